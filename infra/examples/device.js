// A device that stays connected: sends a temperature every second and carries out commands. Needs nothing but Node 22.
//
//     HEADWATER_API_KEY=hw_... node device.js greenhouse
import process from 'node:process';

const [source = 'greenhouse'] = process.argv.slice(2);
const { HEADWATER_URL: url = 'http://localhost:8080', HEADWATER_API_KEY: key } = process.env;
let fanRpm = 0;

function connect() {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/ws/device`);
  const send = (frame) => socket.send(JSON.stringify(frame));
  let timer;
  socket.addEventListener('open', () => send({ type: 'device_auth', api_key: key, source_id: source }));
  socket.addEventListener('message', ({ data }) => {
    const { type, id, command, params, message } = JSON.parse(data);
    if (type === 'error') console.error(message);
    if (type === 'authenticated') timer = setInterval(() => send({ type: 'telemetry', points: [temperature()] }), 1000);
    if (type !== 'typed_command') return;
    if (command === 'set_fan') fanRpm = params.rpm;
    const outcome =
      command === 'set_fan' ? { event: 'result', result: { rpm: fanRpm } } : { event: 'error', error: `I cannot ${command}.` };
    send({ type: 'command_result', id, command, ...outcome });
  });
  socket.addEventListener('close', () => {
    clearInterval(timer);
    setTimeout(connect, 500 + Math.random() * 5000);
  });
}

const temperature = () => ({ metric: 'air.temperature', value: 25 - fanRpm / 300 + Math.random(), timestamp: Date.now() });

connect();
