import { count, spanned, times } from "../../parts/format";
import type { Block } from "../../shapes";

const KINDS: Record<string, string> = {
  rolling: "Rolling",
  chunk: "Chunks",
  merged: "Merged",
  medium: "Medium term",
  long: "Long term",
  digest: "Digest",
};

/** What a layer is called. */
export const layerName = (kind: string, layer: number): string =>
  kind === "layer" ? `Layer ${layer}` : (KINDS[kind] ?? `Layer ${layer}`);

/** How much shorter a text is than what it stands for. */
export function shorter(block: Pick<Block, "tokens" | "covered_tokens">): string {
  const by = block.covered_tokens / Math.max(1, block.tokens);
  return `1 : ${by >= 10 ? count(Math.round(by)) : by.toFixed(1)}`;
}

/** A block in words, for those who do not see it. */
export const told = (block: Block): string =>
  `${layerName(block.kind, block.layer)}, ${spanned(block.covers)}, ${times(block.tokens, "token")} for ` +
  `${count(block.covered_tokens)}, ${block.status}`;
