// Debian's package has no types: those of panva/jose that the program uses.
declare module "jose" {
  type Keys = (header: object, token: object) => Promise<unknown>;
  interface Options {
    issuer: string;
    audience: string;
    typ: string;
    algorithms: string[];
  }
  export function createRemoteJWKSet(address: URL): Keys;
  export function jwtVerify(token: string, keys: Keys, options: Options): Promise<{ payload: Record<string, unknown> }>;
}

declare const process: { argv: string[] };
declare module "node:fs" {
  export function readFileSync(path: string, encoding: "utf8"): string;
}
declare module "node:assert" {
  export function equal(a: unknown, b: unknown): void;
  export function rejects(work: Promise<unknown>, check: (error: Error) => boolean): Promise<void>;
}
