// Runs in a page of the server: reads events with fetch and metrics with a WebSocket while it sends both.
export default async ({ apiKey, source }) => {
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };

  const answer = await fetch(`/v1/sources/${source}/logs/stream`, { headers: { ...headers, accept: 'text/event-stream' } });
  const chunks = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const events = async (isThere) => {
    while (!isThere.test(text)) {
      const { done, value } = await chunks.read();
      if (done) throw new Error(`the events ended: ${text}`);
      text += value;
    }
  };

  const socket = new WebSocket(`ws://${location.host}/v1/sources/${source}/metrics/stream?cursor=1`);
  const messages = [];
  const message = (isIt) =>
    new Promise((resolve, reject) => {
      const look = () => messages.some(isIt) && resolve();
      socket.addEventListener('message', look);
      socket.addEventListener('close', ({ code }) => reject(new Error(`the socket was closed with ${code}`)));
      look();
    });
  socket.addEventListener('message', ({ data }) => messages.push(JSON.parse(data)));
  socket.addEventListener('open', () => socket.send(JSON.stringify({ type: 'auth', api_key: apiKey })));

  await events(/^id: /m);
  await message(({ type }) => type === 'cursor');
  const points = [
    { metric: 'm', value: 21.5, timestamp: 1_769_860_800_000 },
    { metric: 'e', class: 'event', value: { opened: ['north', null] }, timestamp: 1_769_860_800_000 },
  ];
  const sent = await fetch('/ingest', { method: 'POST', headers, body: JSON.stringify({ source_id: source, points }) });
  await message(({ type }) => type === 'telemetry');
  await events(/^data: .*\n\n/m);
  socket.close();
  await chunks.cancel();
  return {
    statuses: [answer.status, sent.status],
    mediaType: answer.headers.get('content-type'),
    messages: messages.filter(({ type }) => type === 'telemetry'),
    events: [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json)),
  };
};
