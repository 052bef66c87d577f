// The AI SDK as a client: node chat.mjs TASK URL MODEL KEY, one JSON object on standard output.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, generateText, Output, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const [task, url, name, key] = process.argv.slice(2);
const question = "What is the weather in Oslo for the next 3 days?";
const result = "Snow, 3 degrees below zero.";

// What leaves loopback is an error, so that a test can't depend on it.
const ours = globalThis.fetch;
globalThis.fetch = (target, options) => {
  if (new URL(target.url ?? target).hostname !== "127.0.0.1") throw new Error(`reached beyond loopback: ${target}`);
  return ours(target, options);
};

const provider = createOpenAICompatible({
  name: "tacid",
  baseURL: `${url}/v1`,
  apiKey: key,
  includeUsage: true,
  supportsStructuredOutputs: true,
});
const common = { model: provider(name), prompt: question, maxRetries: 0, temperature: 0, maxOutputTokens: 200 };

const ran = [];
const tools = {
  weather: tool({
    description: "The weather of a city for some days.",
    inputSchema: z.strictObject({ city: z.enum(["Oslo", "Rome"]), days: z.int() }),
    execute: (input) => (ran.push({ name: "weather", input }), result),
  }),
  light_set: tool({
    description: "Switch the light of a room.",
    inputSchema: z.strictObject({ room: z.enum(["hall", "kitchen"]), on: z.boolean() }),
    execute: (input) => (ran.push({ name: "light_set", input }), "Done."),
  }),
};
const city = z.strictObject({ name: z.enum(["Oslo", "Rome"]), cold: z.boolean() });

/** Everything a stream says: its text, how many parts it came in, and what the whole reply would be. */
async function drained(stream, kind) {
  let parts = 0;
  let error;
  for await (const part of stream.fullStream) {
    if (part.type === kind) parts += 1;
    if (part.type === "error") error = part.error;
  }
  if (error) throw error;
  return { parts, text: await stream.text, steps: await stream.steps, usage: await stream.totalUsage };
}

/** The first step is held to a call, what follows to an answer. */
const loop = {
  ...common,
  tools,
  stopWhen: stepCountIs(2),
  prepareStep: ({ stepNumber }) => ({ toolChoice: stepNumber === 0 ? "required" : "none" }),
};
const named = { ...common, tools, toolChoice: { type: "tool", toolName: "light_set" } };
const object = { ...common, output: Output.object({ schema: city }) };

const reasons = (steps) => steps.map((step) => step.finishReason);
const tasks = {
  async loop() {
    const { text, steps, totalUsage } = await generateText(loop);
    return { text, ran, reasons: reasons(steps), tokens: totalUsage.outputTokens };
  },
  async loop_streamed() {
    const { text, steps, parts, usage } = await drained(streamText(loop), "text-delta");
    return { text, ran, reasons: reasons(steps), tokens: usage.outputTokens, parts };
  },
  async named() {
    await generateText(named);
    return { ran };
  },
  async named_streamed() {
    const { parts } = await drained(streamText(named), "tool-input-delta");
    return { ran, parts };
  },
  async object() {
    return { object: (await generateText(object)).output };
  },
  async object_streamed() {
    const stream = streamText(object);
    const { parts } = await drained(stream, "text-delta");
    return { object: await stream.output, parts };
  },
  async plain() {
    return { text: (await generateText({ ...common, maxOutputTokens: 4 })).text };
  },
  async plain_streamed() {
    return { text: (await drained(streamText({ ...common, maxOutputTokens: 4, onError() {} }), "text-delta")).text };
  },
  async image() {
    const content = [{ type: "file", mediaType: "image/png", data: "AAAA" }];
    await generateText({ ...common, prompt: undefined, messages: [{ role: "user", content }] });
    return {};
  },
};

try {
  console.log(JSON.stringify(await tasks[task]()));
} catch (error) {
  if (!APICallError.isInstance(error)) throw error;
  console.log(JSON.stringify({ error: { status: error.statusCode, message: error.message, data: error.data } }));
}
