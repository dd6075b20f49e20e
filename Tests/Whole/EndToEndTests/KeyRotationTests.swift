import BrokerTesting
import JOSE
import PrivateCluster
import StrictCoding
import BrokerHarness
import Glibc
import Testing

/// The identity provider signs with a new key. A broker asks for keys at most every half minute, so this takes as long.
@Suite(.timeLimit(.minutes(5))) struct KeyRotationTests {
    @Test func aKeyThatWasJustPublished() async throws {
        let (first, successor) = (try TestKey(.es256, keyID: "first"), try TestKey(.es256, keyID: "successor"))
        let provider = try StubIdentityProvider(keys: [first])
        let (installation, logins) = try await FaultFixture.install(
            provider.issuer, first, on: try await PrivateCluster.shared)
        let broker = try await installation.startBroker().ready()
        // It asked when it started, and may ask again half a minute later.
        let mayAsk = ContinuousClock.now + .seconds(31)
        try provider.publish([first, successor])
        let before = provider.jwksRequests
        // Nobody who has a token under the old key notices anything, before, while and after the broker asks.
        repeat {
            #expect(try await broker.token(try logins.exchange(logins.login())).status == 200)
            try await Task.sleep(for: .milliseconds(200))
        } while ContinuousClock.now < mayAsk
        // The first token under the new key is accepted at once, and causes the fetch for all later ones.
        for _ in 1...3 {
            var login = logins.login()
            login.token.key = successor
            login.token.header["kid"] = .string("successor")
            let answer = try await broker.token(try logins.exchange(login))
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.keepsContract)
            #expect(try await broker.token(try logins.exchange(logins.login())).status == 200)
        }
        #expect(provider.jwksRequests - before == 1)
        await broker.process.terminate()
    }

    @Test func aClientMayChooseTheAlgorithmOfItsTokens() async throws {
        let (installation, logins) = try await FaultFixture.install()
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
        var second = try await broker.token(try logins.exchange(logins.login()))
        while try Self.algorithm(second.accessToken) == .es256 {
            try await Task.sleep(for: .milliseconds(20))
            second = try await broker.token(try logins.exchange(logins.login()))
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
        let (installation, logins) = try await FaultFixture.install()
        try await installation.withBroker { broker in
            let other = try await logins.family(at: broker)
            var login = logins.login()
            for name in ["di_hash", "ds_hash", "sid"] { login.token.claims[name] = nil }
            var form = TokenForm.exchange(
                try login.token.signed(), issuer: logins.issuer, device: login.device, profile: .deviceID,
                client: logins.source)
            form["requested_token_type"] = "urn:ietf:params:oauth:token-type:id_token"
            let enrolled = try await broker.token(form)
            let exchange = TokenForm.exchange(
                try #require(enrolled.json?.string("id_token"), "\(enrolled.text)"),
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
            _ = try await eventually("the id_token is refused") {
                try await broker.token(exchange).status == 400 ? true : nil
            }
        }
    }

    private static func algorithm(_ token: String?) throws -> SignatureAlgorithm {
        try CompactJWS(try #require(token)).header.algorithm
    }
}
