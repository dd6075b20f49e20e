import BrokerTesting
import JOSE
import PrivateCluster
import StrictCoding
import BrokerHarness
import Glibc
import Testing

/// The broker's own keys change under its apps.
@Suite(.timeLimit(.minutes(5))) struct KeyRotationTests {
    @Test func aClientMayChooseTheAlgorithmOfItsTokens() async throws {
        let (installation, logins) = try await Installation.ofTwoApps()
        for algorithm in ["RS256", "EdDSA"] {
            try await installation.command("key", "generate", "--use", "access-token", "--algorithm", algorithm)
        }
        let sql = try installation.session()
        try await sql.rows(
            "UPDATE native_sso.signing_key SET state = 'active', activated_at = now() WHERE state = 'published'")
        let broker = try await installation.startBroker().ready()
        let first = try await broker.token(try logins.exchange(logins.login()))
        #expect(try Self.algorithm(first.accessToken) == .es256)
        try await installation.command(
            "client", "update", "app-two", "--signing-algorithm", "RS256", "--id-token", "--id-token-algorithm",
            "EdDSA",
            "--execute", "--reason", "test")
        broker.process.signal(SIGHUP)
        let keys = try JSONWebKeySet(document: Array(try await broker.get("/.well-known/jwks.json").text.utf8))
        let second = try await eventually("the broker knows what the client chose") {
            let answer = try await broker.token(try logins.exchange(logins.login()))
            return try Self.algorithm(answer.accessToken) == .es256 ? nil : answer
        }
        let third = try await broker.token(logins.refresh(try #require(second.refreshToken)))
        for (token, algorithm) in [
            (second.accessToken, SignatureAlgorithm.rs256), (second.json?.string("id_token"), .edDSA),
            (third.accessToken, .rs256),
        ] {
            #expect(try Self.algorithm(token) == algorithm)
            _ = try CompactJWS(try #require(token)).verified(by: keys, allowing: [algorithm])
        }
        await broker.process.terminate()
    }

    /// The key that signed the id_tokens of enrolled logins is stolen: their families end, and those of other logins live.
    @Test func aCompromisedSigningKeyEndsWhatDependsOnIt() async throws {
        let (installation, logins) = try await Installation.ofTwoApps()
        try await installation.withBroker { broker in
            let other = try await logins.family(at: broker)
            var login = logins.login()
            for name in ["di_hash", "ds_hash", "sid"] { login.token.claims[name] = nil }
            let enrolled = try await broker.token(
                .enrolment(
                    try login.token.signed(), issuer: logins.issuer, device: login.device, profile: .deviceID,
                    client: logins.source))
            let exchange = TokenForm.exchange(
                try #require(enrolled.idToken, "\(enrolled.text)"),
                issuer: installation.configuration.issuer, device: login.device, profile: .deviceID,
                client: logins.target)
            let answer = try await broker.token(exchange)
            let token = try #require(answer.refreshToken, "\(answer.text)")

            let sql = try installation.session()
            func kid(_ state: String) async throws -> String {
                try await sql.row(
                    "SELECT kid FROM native_sso.signing_key WHERE use = 'access-token' AND state = '\(state)'")
            }
            let old = try await kid("active")
            let act = ["--execute", "--reason", "stolen", "--"]
            try await installation.command("key", "generate", "--use", "access-token")
            try await installation.command(["key", "activate", "--force"] + act + [try await kid("published")])
            let plan = try await installation.command("key", "remove", "--compromised", "--", old)
            #expect(plan.contains("1 live token family"), "\(plan)")
            #expect(try await sql.row("SELECT count(*) FROM native_sso.sso_grant WHERE revoked_at IS NOT NULL") == "0")
            try await installation.command(["key", "remove", "--compromised"] + act + [old])
            #expect(
                try await sql.rows(
                    "SELECT client_id, revoke_reason FROM native_sso.sso_grant WHERE revoked_at IS NOT NULL")
                    == ["\(logins.target)|operator"])
            #expect(try await broker.token(.refresh(token, client: logins.target)).error == "invalid_grant")
            #expect(try await broker.token(logins.refresh(other.refreshToken)).status == 200)
            // Its id_token is worth nothing any more, once the broker knows.
            let refused = try await eventually("the id_token is refused") {
                let answer = try await broker.token(exchange)
                return answer.status == 400 ? answer : nil
            }
            #expect(refused.error == "invalid_request", "\(refused.text)")
        }
    }

    private static func algorithm(_ token: String?) throws -> SignatureAlgorithm {
        try CompactJWS(try #require(token)).header.algorithm
    }
}
