import { readFileSync } from "node:fs";
import { equal, rejects } from "node:assert";
import { Broker, Refusal, verifier } from "./client";

async function tryAll(values: any): Promise<void> {
  const broker = await Broker.discover(values.issuer, "app-two");
  const login = values.logins.pop();
  const deviceID = "urn:x-oath:params:oauth:token-type:device-id";
  const first = await broker.exchange(values.idp, login.id_token, login.device, deviceID, "openid profile");
  equal(first.scope, "openid profile");
  const second = await broker.refresh(first.refresh_token);
  const verify = verifier(values.issuer, `${values.issuer}/.well-known/jwks.json`, values.audience);
  for (const tokens of [first, second]) {
    const claims = await verify(tokens.access_token);
    equal(claims.client_id, "app-two");
  }
  // Another signature, another service, and an id_token.
  await rejects(verify(first.access_token.slice(0, -8) + "AAAAAAAA"), () => true);
  await rejects(
    verifier(values.issuer, `${values.issuer}/.well-known/jwks.json`, "https://other.example")(first.access_token),
    (error) => /aud/.test(error.message),
  );
  await rejects(verify(values.id_token), (error) => /typ/.test(error.message));

  await broker.revoke(second.refresh_token);
  await rejects(
    broker.refresh(second.refresh_token),
    (error) => error instanceof Refusal && error.code === "invalid_grant",
  );
}

tryAll(JSON.parse(readFileSync(process.argv[2], "utf8")));
