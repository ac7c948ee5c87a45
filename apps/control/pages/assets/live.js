// Keeps a page up to date while it is looked at. The streams tell that something has come; what is shown then is what the server makes of the
// page, part by part, so that it looks the same with this script and without. Pages that nobody sees hold no connection.
const place = document.querySelector('[data-streams]');
const addresses = place.dataset.streams.split(' ');
/** A page is not asked for more often, however much comes. */
const restMs = 3_000;
/** For what no message tells, such as that a device is offline. */
const quietMs = 30_000;

let streams = [];
let isResting = false;
let isDue = false;
let quiet;

function say() {
  const states = streams.map(({ readyState }) => readyState);
  const text = states.includes(EventSource.CLOSED)
    ? 'Not live: load the page again.'
    : states.includes(EventSource.CONNECTING)
      ? 'Connecting…'
      : 'Live';
  // Screen readers tell every change.
  if (place.textContent !== text) place.textContent = text;
}

async function refresh() {
  isDue = isResting;
  if (isResting || document.hidden) return;
  isResting = true;
  clearTimeout(quiet);
  try {
    const answer = await fetch(location.href, { redirect: 'error' });
    if (answer.ok) show(new DOMParser().parseFromString(await answer.text(), 'text/html'));
  } catch {
    // The streams say that the server is away.
  }
  setTimeout(() => {
    isResting = false;
    if (isDue) void refresh();
  }, restMs);
  quiet = setTimeout(() => void refresh(), quietMs);
}

/** Puts the new parts in the place of the old ones. A part in which somebody reads stays as it is, but for the parts within it. */
function show(next) {
  const parts = [...document.querySelectorAll('[data-part]')];
  const news = new Map([...next.querySelectorAll('[data-part]')].map((part) => [part.dataset.part, part]));
  for (const part of parts) {
    const other = news.get(part.dataset.part);
    if (other && part.isConnected && !isHeld(part) && !part.isEqualNode(other)) part.replaceWith(document.adoptNode(other));
  }
}

const isHeld = (part) =>
  part.contains(document.activeElement) ||
  part.querySelector('details[open]') !== null ||
  (getSelection()?.type === 'Range' && getSelection().containsNode(part, true));

function open() {
  close();
  if (document.hidden) return;
  streams = addresses.map((address) => {
    const stream = new EventSource(address);
    stream.addEventListener('open', say);
    stream.addEventListener('error', say);
    stream.addEventListener('message', () => void refresh());
    return stream;
  });
  say();
}

function close() {
  clearTimeout(quiet);
  for (const stream of streams) stream.close();
  streams = [];
}

document.addEventListener('visibilitychange', () => {
  open();
  if (!document.hidden) void refresh();
});
addEventListener('pagehide', close);
addEventListener('pageshow', open);
quiet = setTimeout(() => void refresh(), quietMs);
