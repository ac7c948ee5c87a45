import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Answer, Ask } from '../http/send.js';

interface MediaType {
  readonly schema?: unknown;
}
interface Response {
  readonly content?: Readonly<Record<string, MediaType>>;
}
interface Operation {
  readonly operationId?: string;
  readonly responses: Readonly<Record<string, Response | { readonly $ref: string }>>;
}
export interface OpenApi {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly responses: Readonly<Record<string, Response>> };
}

/** Holds answers against the document that the server publishes about itself, with a validator that is not the one that made it. */
export class Contract {
  readonly #ajv = new Ajv2020({ strict: false, allErrors: false });
  readonly #validators = new Map<string, ValidateFunction>();
  readonly #templates: readonly { readonly template: string; readonly pattern: RegExp }[];

  constructor(private readonly document: OpenApi) {
    addFormats.default(this.#ajv);
    this.#ajv.addSchema({ $id: 'openapi', ...document });
    this.#templates = Object.keys(document.paths)
      .toSorted((a, b) => parametersOf(a) - parametersOf(b))
      .map((template) => ({ template, pattern: new RegExp(`^${template.replaceAll(/[.]/g, '\\.').replaceAll(/\{[^}]+\}/g, '[^/]+')}$`) }));
  }

  /** @throws Error naming operation and place when the answer has a status, a content type or a body that is not documented. */
  check(ask: Ask, answer: Answer): void {
    const method = (ask.method ?? 'GET').toLowerCase();
    const path = ask.path.split('?', 1)[0]!;
    const template = this.#templates.find(({ pattern }) => pattern.test(path))?.template;
    const operation = template === undefined ? undefined : this.document.paths[template]![method];
    if (!template || !operation) return checkStray(method, path, answer);
    const name = `${method.toUpperCase()} ${template} (${operation.operationId ?? 'without an id'})`;
    const listed = operation.responses[String(answer.status)];
    if (!listed) throw new Error(`${name} answered ${answer.status}, which /openapi.json does not list: ${answer.text.slice(0, 300)}`);
    if ('$ref' in listed) {
      const [, ...place] = listed.$ref.split('/');
      this.#checkBody(name, place, this.document.components.responses[place.at(-1)!]!.content, answer);
    } else this.#checkBody(name, ['paths', template, method, 'responses', String(answer.status)], listed.content, answer);
  }

  #checkBody(name: string, place: readonly string[], content: Readonly<Record<string, MediaType>> | undefined, answer: Answer): void {
    if (!content) {
      if (answer.text !== '') throw new Error(`${name} ${answer.status} has a body, which /openapi.json does not describe`);
      return;
    }
    const mediaType = (answer.headers['content-type'] ?? '').split(';', 1)[0]!;
    if (!content[mediaType])
      throw new Error(`${name} ${answer.status} is '${mediaType}', /openapi.json has ${Object.keys(content).join(', ')}`);
    if (!mediaType.endsWith('json')) return;
    const pointer = [...place, 'content', mediaType, 'schema']
      .map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1')))
      .join('/');
    const validate = this.#validator(`openapi#/${pointer}`);
    if (validate(JSON.parse(answer.text))) return;
    const [error] = validate.errors ?? [];
    throw new Error(`${name} ${answer.status} at ${error?.instancePath || '/'} ${error?.message}: ${answer.text.slice(0, 300)}`);
  }

  #validator(reference: string): ValidateFunction {
    let validator = this.#validators.get(reference);
    if (!validator) this.#validators.set(reference, (validator = this.#ajv.compile({ $ref: reference })));
    return validator;
  }
}

/** Of two that fit a path, the one with fewer is meant. */
const parametersOf = (template: string): number => template.split('{').length;

/** What no operation is for is an error, a preflight or the deprecated path prefix. */
function checkStray(method: string, path: string, { status }: Answer): void {
  if (status >= 400 || method === 'options' || status === 308) return;
  throw new Error(`${method.toUpperCase()} ${path} answered ${status}, but /openapi.json has no such operation`);
}
