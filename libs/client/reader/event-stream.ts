/** An event of `text/event-stream`. */
export interface StreamEvent {
  readonly id?: string | undefined;
  /** Undefined for a message. */
  readonly name?: string | undefined;
  /** Undefined for an event that only moves the id, and for a comment. */
  readonly data?: string | undefined;
}

/** What the reader of a body gives: the next chunk, and none at its end. */
export type NextChunk = () => Promise<{ readonly value?: Uint8Array | undefined }>;

/** The events of a body that is as ours are: lines end in a line feed, and data is one line. What has no end yet is no event. */
export async function* eventsOf(next: NextChunk): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder();
  let parts: string[] = [];
  for (let { value } = await next(); value; { value } = await next()) {
    const text = decoder.decode(value, { stream: true });
    parts.push(text);
    // The blank line that ends an event may come in two chunks. A long event of many chunks is put together once.
    if (!text.includes('\n\n') && !text.startsWith('\n')) continue;
    const events = parts.join('').split('\n\n');
    parts = [events.pop()!];
    for (const event of events) yield parse(event);
  }
}

function parse(text: string): StreamEvent {
  const fields: Record<string, string | undefined> = {};
  for (const line of text.split('\n')) {
    const [, name, value] = /^(.*?): ?(.*)$/s.exec(line) ?? [];
    if (name) fields[name] = value;
  }
  const { id, event: name, data } = fields;
  return { id, name, data };
}
