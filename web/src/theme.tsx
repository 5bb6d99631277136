import { useEffect, useState } from "preact/hooks";

const KEY = "lamina-theme";
const NEXT = { auto: "light", light: "dark", dark: "auto" } as const;
type Theme = keyof typeof NEXT;

function kept(): Theme {
  const found = localStorage.getItem(KEY);
  return found !== null && found in NEXT ? (found as Theme) : "auto";
}

/** Light, dark, or as the machine has it. */
export function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(kept);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem(KEY, theme);
  }, [theme]);
  return (
    <button type="button" class="quiet" onClick={() => setTheme(NEXT[theme])} aria-label={`Theme: ${theme}`}>
      {{ auto: "◐", light: "☀", dark: "☾" }[theme]}
    </button>
  );
}
