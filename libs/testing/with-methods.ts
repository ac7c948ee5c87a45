/** `of`, with some methods replaced. */
export const withMethods = <T extends object>(of: T, methods: Partial<T>): T =>
  new Proxy(of, {
    get: (target, name) => {
      const found: unknown = Reflect.get(name in methods ? methods : target, name);
      return typeof found === 'function' ? (found.bind(target) as unknown) : found;
    },
  });
