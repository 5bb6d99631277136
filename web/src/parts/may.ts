/** What the key that is shown lets one do; the service decides, this only says so before one tries. */

import type { About } from "../shapes";

export const mayWrite = (about: About): boolean => about.role !== "read";
export const mayRule = (about: About): boolean => about.role === "admin";
export const NEEDS_WRITE = "This needs a key with the role write.";
export const NEEDS_ADMIN = "This needs a key with the role admin.";
