/** Characters, as people count them: code points. */
export const minPasswordChars = 12;
/** Nobody types more; a longer one would only cost time to digest. */
export const maxPasswordChars = 256;

/** Of the words that passwords are made of most often. Compared without regard to case, and `p@ssw0rd` is `password`. */
const commonWords: readonly string[] =
  `abc access account admin administrator amanda america andrew angel anthony apple arsenal asdf asdfgh ashley autumn baby bailey banana
  barcelona baseball basketball batman blink butterfly cat changeme charlie cheese chelsea chocolate christ coffee company computer
  cookie daniel data default device dog dragon fall family flower football forever freedom friend ginger god google guest hannah happy
  harley headwater hello home hunter iloveyou internet jennifer jessica jesus jordan joshua justin letmein liverpool london login love
  lovely machine manager master matrix matthew michael michelle mine mobile money monkey mustang mypass naruto nicole ninja nothing
  office owner pass passphrase password passw pepper pokemon princess private purple qazwsx qwer qwert qwerty rainbow robert root
  samsung secret secure security server shadow silver soccer spiderman spring star starwars summer sunshine super superman system taylor
  team telemetry temp temporary test thomas thunder tigger trustno user welcome whatever winter wizard word work yellow you zaq zxcv
  zxcvbn`.split(/\s+/);

/** Texts along which fingers walk, and the same backwards. */
const walks = [
  'abcdefghijklmnopqrstuvwxyz',
  '12345678901234567890',
  '01234567890123456789',
  'qwertyuiopasdfghjklzxcvbnm',
  'qwertzuiopasdfghjklyxcvbnm',
  'azertyuiopqsdfghjklmwxcvbn',
  '1q2w3e4r5t6y7u8i9o0p',
  'q1w2e3r4t5y6u7i8o9p0',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm',
  'zaq12wsxcde34rfvbgt56yhn',
].flatMap((walk) => [walk, Array.from(walk).toReversed().join('')]);

const letterOf: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
  '!': 'i',
};
/** What people add to a word where a longer password is asked for. */
const tail = /^[\d\s!@#$%&*?.,_+-]{0,10}$/;
const maxUnitChars = 4;

/** The password as it is digested: one that is typed on another keyboard, in other code points, is the same. */
export const normalPassword = (text: string): string => text.normalize('NFKC');

/** What is wrong with a new password, as a sentence; undefined when nothing is. There are no rules of what characters it must have. */
export function flawOfPassword(text: string, email: string): string | undefined {
  const password = normalPassword(text);
  const { length } = Array.from(password);
  if (!password.isWellFormed()) return 'Use Unicode without lone surrogates.';
  if (length < minPasswordChars) return `Use at least ${minPasswordChars} characters: a few words are easy to remember.`;
  if (length > maxPasswordChars) return `Use at most ${maxPasswordChars} characters.`;
  if (password.toLowerCase() === email.toLowerCase()) return 'Use something else than the e-mail address.';
  return isCommonPassword(password) ? 'Use another one: this is among the first that anybody would try.' : undefined;
}

/** Whether a password is among those that are tried first: common words, perhaps with digits behind them, a walk over the keyboard, or a few characters again and again. */
export function isCommonPassword(password: string): boolean {
  const text = password.toLowerCase();
  return isRepeated(text) || walks.some((walk) => walk.includes(text)) || isOfWords(text);
}

function isRepeated(text: string): boolean {
  for (let unit = 1; unit <= maxUnitChars; unit++) if (text.length > 2 * unit && text.slice(unit) === text.slice(0, -unit)) return true;
  return false;
}

/** Looks at each place that words can end at once, so that a long text costs no more than its length. */
function isOfWords(text: string): boolean {
  const isEnd: boolean[] = [true];
  for (let at = 0; at < text.length; at++) {
    if (!isEnd[at]) continue;
    for (const word of commonWords) if (isWordAt(text, at, word)) isEnd[at + word.length] = true;
  }
  return isEnd.some((is, at) => is && at > 0 && tail.test(text.slice(at)));
}

function isWordAt(text: string, at: number, word: string): boolean {
  for (let next = 0; next < word.length; next++) {
    const char = text[at + next]!;
    if (char !== word[next] && letterOf[char] !== word[next]) return false;
  }
  return true;
}
