/** What our words mean, each in a sentence or two. */

export const TERMS = {
  "archive line": "What is below it, unused for long and not important, is archived by the next consolidation.",
  budget: "The largest number of tokens that a context may have. It is never exceeded.",
  calibrated: "The usual ranking. Its score says how likely a hit answers the question.",
  confidence: "How sure it is that the fact was said like this, and not only hinted at.",
  consolidation: "Once a day, what was not used for long is archived, and what says the same is merged.",
  digest: "One summary over earlier sessions. A new session begins with it.",
  drift: "How much the new text differs from the old one: 0 % is the same text.",
  episode: "Something that happened and matters: a decision, a problem that was solved, a task that was done.",
  fact: "Something that the user said of themselves, or that was stored by hand, with the words it comes from.",
  fold: "Older messages are replaced by a summary, so that a context stays small. The messages themselves stay in the log.",
  importance: "How much it matters. Important facts come into a context first and fade later.",
  inWork: "Sessions that a worker works on now. For a limited time, no other worker takes them.",
  key: "What a fact is about, for example “location”. A key has one current value.",
  lag: "How long the session that has waited longest has waited for a worker.",
  layer: "Layer 1 summarises messages, layer 2 summarises summaries of layer 1, and so on.",
  leftOut: "There is a summary of these messages, but it did not fit into the budget.",
  milestone: "A mark that was set by hand at a turn of the session.",
  notShown: "Messages that this context does not have, neither word for word nor in a summary.",
  notVisible: "Messages that are in no summary and not in this context: the model does not know of them.",
  pending: "Sessions that wait for a worker to check whether something is due.",
  profile: "The rules by which messages are folded and a context is filled.",
  recalled: "Passages of earlier messages that a search found for this question.",
  redacted: "Words of this message were forgotten: they are erased, also from the files.",
  score:
    "How likely a hit answers the question: of the hits with 30 %, about three in ten do. Where many messages are about the same thing, each of them gets less.",
  scrubbed: "The old bytes in the database files were overwritten.",
  setAside: "Sessions whose work failed too often. No worker takes them until something new comes, or until you retry.",
  threshold: "The profile leaves out of a context what scores less than this.",
  tokens: "The unit in which models count text: about four characters of English.",
  turn: "A message of the user with all that answers it.",
  valuesBlocked: "Forgotten values that will not be learnt again if they are still said somewhere.",
  verbatim: "Messages that the model sees exactly as they were written.",
  waiting: "Sessions whose work failed. They are tried again later, after a growing pause.",
  weightedSum: "The sum of the parts by your weights, from 0 to 1. It ranks, but it is no probability.",
  withoutVectors:
    "Users with new texts that are not compared by meaning yet. Until then, they are found by their words alone.",
} as const;

export type TermName = keyof typeof TERMS;
