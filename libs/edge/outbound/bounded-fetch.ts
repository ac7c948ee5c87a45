/** More than any document of a provider needs. */
const maxBodyBytes = 256 * 1024;

/** `fetch`, which reads no more of a body than that. Rejects when there is more. */
export async function boundedFetch(url: string, options: RequestInit): Promise<Response> {
  const response = await fetch(url, options);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // What leaves the loop by throwing also cancels the body.
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) throw new Error(`${new URL(url).host} answers with more than ${maxBodyBytes} bytes`);
    chunks.push(chunk);
  }
  return new Response(bytes > 0 ? Buffer.concat(chunks) : null, response);
}
