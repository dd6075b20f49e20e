import { createRemoteJWKSet, jwtVerify } from "jose";

export interface Tokens {
  access_token: string;
  token_type: string;
  expires_in: number;
  refresh_token: string;
  scope: string;
}

/** The broker said no. `code` tells what to do; a status of 429 or 5xx never comes here. */
export class Refusal extends Error {
  constructor(readonly code: string) {
    super(code);
  }
}

/** Keep everything, and send the same request again later. */
export class Unavailable extends Error {}

export class Broker {
  private constructor(private readonly metadata: Record<string, string>, private readonly clientID: string) {}

  static async discover(issuer: string, clientID: string): Promise<Broker> {
    const answer = await fetch(`${issuer}/.well-known/openid-configuration`, { redirect: "error" });
    const metadata = await answer.json();
    if (metadata.issuer !== issuer) throw new Error(`${metadata.issuer} is another issuer`);
    return new Broker(metadata, clientID);
  }

  /** `device` is the device_secret or device_id of the shared keychain, and `deviceType` the type of token that it is. */
  exchange(idp: string, idToken: string, device: string, deviceType: string, scope: string): Promise<Tokens> {
    return this.token({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      audience: idp,
      subject_token: idToken,
      subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
      actor_token: device,
      actor_token_type: deviceType,
      scope,
    });
  }

  refresh(refreshToken: string): Promise<Tokens> {
    return this.token({ grant_type: "refresh_token", refresh_token: refreshToken });
  }

  async revoke(refreshToken: string): Promise<void> {
    await this.post(this.metadata.revocation_endpoint, { token: refreshToken });
  }

  private async token(form: Record<string, string>): Promise<Tokens> {
    return (await this.post(this.metadata.token_endpoint, form)).json();
  }

  private async post(address: string, form: Record<string, string>): Promise<Response> {
    const body = new URLSearchParams({ ...form, client_id: this.clientID });
    const answer = await fetch(address, { method: "POST", body, redirect: "error" });
    if (answer.status === 429 || answer.status >= 500) throw new Unavailable(`${answer.status}`);
    if (answer.status !== 200) throw new Refusal((await answer.json()).error);
    return answer;
  }
}

/** Verifies access tokens in an API. Create it once: it keeps the keys. */
export function verifier(issuer: string, keySet: string, audience: string) {
  const keys = createRemoteJWKSet(new URL(keySet));
  return async (accessToken: string) => {
    const options = { issuer, audience, typ: "at+jwt", algorithms: ["ES256"] };
    return (await jwtVerify(accessToken, keys, options)).payload;
  };
}
