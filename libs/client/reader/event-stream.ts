/** An event of `text/event-stream`. */
export interface StreamEvent {
  readonly id?: string | undefined;
  /** Undefined for a message. */
  readonly name?: string | undefined;
  /** Undefined for an event that only moves the id, and for a comment. */
  readonly data?: string | undefined;
}

/** The events of a body whose lines end as ours do: in a line feed. What has no end yet is none. */
export async function* eventsOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder();
  let parts: string[] = [];
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true });
    // The blank line that ends an event may come in two chunks.
    const joined = parts.length > 0 && text.startsWith('\n') ? parts.join('') + text : undefined;
    if (joined === undefined && !text.includes('\n\n')) {
      parts.push(text);
      continue;
    }
    const events = (joined ?? parts.join('') + text).split('\n\n');
    parts = [events.pop()!];
    for (const event of events) yield parse(event);
  }
}

function parse(text: string): StreamEvent {
  const fields: { id?: string; event?: string; data?: string } = {};
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':');
    const value = line.slice(colon + 1).replace(/^ /, '');
    const name = line.slice(0, colon);
    if (name === 'data') fields.data = fields.data === undefined ? value : `${fields.data}\n${value}`;
    else if (name === 'id' || name === 'event') fields[name] = value;
  }
  return { id: fields.id, name: fields.event, data: fields.data };
}
