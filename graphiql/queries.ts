/** The tabs of a first visit. */
export const QUERIES = [
  `# 1. Paste an API key at the top and press Enter: it is
#    sent as Authorization: Bearer sk_… (or sign in at the
#    dashboard: then this page asks in your name)
# 2. Press the button on the right, or Ctrl-Enter.
# The book on the left describes every field.

# Quota and the models that are ready to use
query Overview {
  quota {
    orgId
    plan { code name entitled periodEnd }
    quotas { bucket remaining limit used usagePercent }
  }
  models(available: true) { id type tier multiplier }
}
`,
  `# A chat completion in one piece
mutation Chat {
  createChatCompletion(
    input: { messages: [{ role: user, content: "What is a penstock?" }] }
  ) {
    model
    choices { message { content } finishReason }
    usage { totalTokens creditsUsed tokensRemainingEstimate }
  }
}
`,
  `# The same, token by token (over WebSocket)
subscription Tokens {
  chatCompletion(
    input: { messages: [{ role: user, content: "What is a penstock?" }] }
  ) {
    choices { delta { content } finishReason }
    usage { totalTokens creditsUsed }
  }
}
`,
  `# An image as a job: run this, then watch it with the next tab
mutation Image {
  generateImage(
    input: { prompt: "A dam in the morning light", size: "1024x1024" }
    async: true
  ) {
    job { id status estimatedCredits }
  }
}
`,
  `# All jobs of the organisation, live (over WebSocket)
subscription Jobs {
  jobUpdates {
    sequence
    type
    job { id tool status progress outputData }
  }
}
`,
];
