import * as fc from 'fast-check';

const often = <T>(weight: number, usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: odd });
const space = fc.oneof(
  { weight: 400, arbitrary: fc.constant('') },
  { weight: 60, arbitrary: fc.constantFrom(' ', '\n\t', '\r\n  ') },
  { weight: 1, arbitrary: fc.constantFrom('\u00a0', '\f', '\ufeff') },
);
const quoted = (text: fc.Arbitrary<string>): fc.Arbitrary<string> => text.map((plain) => JSON.stringify(plain));

const number = fc.oneof(
  fc.integer().map(String),
  fc.double({ noDefaultInfinity: true, noNaN: true }).map(String),
  fc.double({ noDefaultInfinity: true, noNaN: true }).map((value) => value.toExponential()),
  fc.tuple(fc.double({ min: -1e12, max: 1e12, noNaN: true }), fc.nat(10)).map(([value, digits]) => value.toFixed(digits)),
  fc
    .tuple(fc.nat(20), fc.nat(20))
    .map(([whole, part]) => `${'123456789012345678901'.slice(0, whole + 1)}.${'900000000000000000001'.slice(0, part + 1)}`),
  fc.constantFrom('0', '-0', '0.0', '-0.000', '1e22', '1E-5', '0e5', '4.35', '9007199254740993', '5e-324', '1.7976931348623157e308'),
);
const brokenNumber = fc.constantFrom(
  '01',
  '-',
  '-01',
  '1.',
  '.5',
  '+1',
  '1e',
  '1e+',
  '1.e1',
  '0x1',
  '1_0',
  'NaN',
  'Infinity',
  '1e400',
  '-1e999',
  '--1',
  '1-1',
);

const escapes = fc.constantFrom(
  '"\\u0061"',
  '"\\/"',
  '"a\\"b"',
  '"\\ud800"',
  '"\\ud83d\\ude00"',
  '"\\u0000"',
  '"\\x"',
  '"\\u12"',
  '"tab\there"',
  '"nul\0here"',
  '"',
  '"é€😀"',
  '"\ufeffa"',
  '"\u007f"',
  `"${'m'.repeat(256)}"`,
  `"${'m'.repeat(257)}"`,
  `"${'é'.repeat(128)}"`,
  `"${'é'.repeat(128)}x"`,
);
const literal = fc.constantFrom('null', 'null', 'true', 'true', 'false', 'false', 'nul', 'nulll', 'True', 'undefined', 'null]', '');
const nested = fc.oneof(
  fc.json({ maxDepth: 3 }),
  fc.constantFrom(
    '{"a":[1,{"b":"]}"}],"c":null}',
    '[1e400]',
    '{"__proto__":1}',
    '{"2":1,"1":2}',
    '{"a":1,"a":2}',
    '[}',
    '{"a"}',
    '[1,]',
    '{',
    '["\\u00e9","é"]',
    '{ "b" : 1.0 ,\n"a" : [ 1E+2 , -0.0 ] }',
    '["a b\\" c", "\\\\" , "\\\\\\" d"]',
    '[ ]',
    '{"\\ud800": "\\udc00"}',
  ),
  fc.integer({ min: 57, max: 65 }).map((depth) => '['.repeat(depth) + ']'.repeat(depth)),
  fc.constantFrom(4094, 4095, 4096, 4097).map((length) => JSON.stringify('x'.repeat(length))),
);
const anything = fc.oneof(number, brokenNumber, escapes, literal, nested, quoted(fc.string({ maxLength: 8 })));

const metric = often(60, quoted(fc.constantFrom('a', 'b.c', 'battery.level', 'é', 'value', 'tags')), fc.oneof(escapes, anything));
const source = often(60, quoted(fc.constantFrom('s', 't', 'u-1')), fc.oneof(escapes, anything, quoted(fc.constantFrom('', 'a b', '-'))));
const value = often(60, number, anything);
const timestamp = often(
  60,
  fc.oneof(
    fc.constantFrom('1700000000000', '1700000000001', '1700000000', '1700000000.5', '0', '-1', 'null'),
    fc.integer({ min: 1, max: 2 ** 53 }).map(String),
    fc.double({ min: 1e9, max: 1e21, noNaN: true }).map(String),
  ),
  anything,
);
const tags = often(
  40,
  fc.oneof(
    fc.constantFrom('{}', 'null', '{"a":"1"}', '{"a":"1","b":"2"}', '{"b":"2","a":"1"}', '{ "a" : "1" }', '{"a":"2"}', '{"__proto__":"p"}'),
    fc.dictionary(fc.string({ maxLength: 3 }), fc.string({ maxLength: 3 }), { maxKeys: 17 }).map((entries) => JSON.stringify(entries)),
  ),
  anything,
);
const kind = often(60, fc.constantFrom('"event"', '"metric"', 'null'), anything);
const unknown = fc.tuple(
  fc.constantFrom('"unit"', '"points"', '"é"', '"__proto__"', '"\\u0061"', '"seq"', '""', `"${'k'.repeat(300)}"`),
  anything,
);

/** `"key": value` with any space around. */
const pair = (key: fc.Arbitrary<string>, text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(space, key, space, space, text, space).map(([a, k, b, c, v, d]) => `${a}${k}${b}:${c}${v}${d}`);
const field = (name: string, text: fc.Arbitrary<string>): fc.Arbitrary<string> => pair(fc.constant(`"${name}"`), text);
const unknownField = unknown.chain(([key, text]) => pair(fc.constant(key), fc.constant(text)));
const sometimes = (part: fc.Arbitrary<string>, weight: number): fc.Arbitrary<string[]> =>
  fc.oneof({ weight: 1, arbitrary: part.map((text) => [text]) }, { weight, arbitrary: fc.constant<string[]>([]) });

const shuffled = (parts: string[]): fc.Arbitrary<string[]> =>
  often(2, fc.constant(parts), fc.shuffledSubarray(parts, { minLength: parts.length }));
const object = (parts: fc.Arbitrary<string[][]>): fc.Arbitrary<string> =>
  parts.chain((fields) => shuffled(fields.flat())).map((fields) => `{${fields.join(',')}}`);

const one = (part: fc.Arbitrary<string>): fc.Arbitrary<string[]> =>
  often(
    200,
    part.map((text) => [text]),
    fc.array(part, { maxLength: 2 }),
  );
const point = often(
  100,
  object(
    fc.tuple(
      one(field('metric', metric)),
      one(field('value', value)),
      fc.oneof(one(field('timestamp', timestamp)), fc.constant<string[]>([])),
      sometimes(field('tags', tags), 3),
      sometimes(field('class', kind), 4),
      sometimes(field('source_id', source), 8),
      sometimes(unknownField, 12),
    ),
  ),
  anything,
);
const points = fc.tuple(fc.array(point, { maxLength: 12 }), space).map(([all, end]) => `[${all.join(',')}${end}]`);
/** Texts of ingest bodies, most of them right or wrong in one place: every order and spelling that JSON allows, and some that it does not. */
export const nearlyRightBodies: fc.Arbitrary<string> = fc
  .tuple(
    space,
    object(fc.tuple(one(field('source_id', source)), one(field('points', often(60, points, anything))), sometimes(unknownField, 12))),
    space,
  )
  .map((parts) => parts.join(''));

export interface Mutation {
  readonly at: number;
  readonly remove: number;
  readonly insert: readonly number[];
}
/** A change of a body's bytes. */
export const mutations: fc.Arbitrary<Mutation> = fc.record({
  at: fc.nat(),
  remove: fc.nat(2),
  insert: fc.array(fc.oneof(fc.constantFrom(...Buffer.from('{}[]:,"\\ \n0-e.\0')), fc.constantFrom(0x80, 0xc3, 0xe2, 0xff, 0x1f)), {
    maxLength: 2,
  }),
});

export function mutated(bytes: Uint8Array, changes: readonly Mutation[]): Uint8Array {
  const list = [...bytes];
  for (const { at, remove, insert } of changes) list.splice(at % (list.length + 1), remove, ...insert);
  return Uint8Array.from(list);
}
