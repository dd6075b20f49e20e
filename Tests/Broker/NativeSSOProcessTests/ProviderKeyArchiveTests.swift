import BrokerHarness
import BrokerTesting
import Foundation
import Glibc
import JOSE
import PrivateCluster
import StrictCoding
import Testing

@Suite("serve archives the keys of identity providers", .timeLimit(.minutes(10)))
struct ProviderKeyArchiveTests {
    @Test func `a key that left the key set is remembered; one that somebody else put into the table never counts`()
        async throws
    {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let first = try await installation.startBroker("first").ready()
            let old = try Login(installation, sid: "sid-old")
            #expect(try await first.token(old.exchange(by: "app2")).status == 200)
            first.process.signal(SIGTERM)
            #expect(await first.process.exitStatus == 0)

            // The identity provider has a new key. A thief of the service's password inserts two rows into the table: one
            // beside a row of the broker, and one without a key.
            let new = try TestKey(.es256, keyID: "new")
            try installation.write(String(decoding: try TestKey.document([new]), as: UTF8.self), to: "key-set.json")
            let planted = try TestKey(.es256, keyID: "planted")
            let key = planted.publicKey
            try await installation.plant(
                Base64URL.encode(key.thumbprint), String(decoding: key.json.octets, as: UTF8.self))
            try await installation.plant(String(repeating: "B", count: 43), "[]")

            let second = try await installation.startBroker("second").ready()
            #expect(
                try await second.token(try Login(installation, sid: "sid-new", key: new).exchange(by: "app2")).status
                    == 200)
            #expect(try await second.token(old.exchange(by: "app2")).status == 200)
            let forged = try await second.token(
                try Login(installation, sid: "sid-forged", key: planted).exchange(by: "app2"))
            #expect(forged.status == 400 && forged.json?.string("error") == "invalid_request", "\(forged.text)")
            #expect(try await second.process.errorLine(containing: "2 rows of idp_key") != nil)
            // A revocation of the row without a key would be one that no broker can tell.
            try await installation.expectFailure(
                ["idp-key", "revoke", String(repeating: "B", count: 43)], 1, "is not the thumbprint of a key")

            // A row of the broker with a changed lifetime is ignored, too. A revocation by the owner stays valid even if the
            // rest of the row was changed, and makes the brokers read the rows again.
            try await installation.lengthenLives()
            try await installation.revoke(new.publicKey)
            #expect(try await second.process.errorLine(containing: "4 rows of idp_key") != nil)
            try await second.wait {
                try await $0.token(try Login(installation, sid: "sid-2", key: new).exchange(by: "app2")).status == 400
            }
        }
    }

    /// SIGHUP reads `jwks_file` again, and a revocation takes effect on a running broker.
    @Test func `a key set that is replaced by hand, and a key that is revoked by hand`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let broker = try await installation.startBroker("broker").ready()
            let old = try Login(installation, sid: "sid-old")
            #expect(try await broker.token(old.exchange(by: "app2")).status == 200)

            // Garbage changes nothing.
            try installation.write("{", to: "key-set.json")
            broker.process.signal(SIGHUP)
            #expect(try await broker.process.errorLine(containing: "key set not refreshed") != nil)
            #expect(try await broker.token(old.exchange(by: "app2")).status == 200)

            // No overlap: the old key is retired, and verifies id_tokens from its time.
            let new = try TestKey(.es256, keyID: "new/1")
            try installation.write(String(decoding: try TestKey.document([new]), as: UTF8.self), to: "key-set.json")
            broker.process.signal(SIGHUP)
            #expect(try await broker.process.errorLine(containing: "key retired") != nil)
            let login = try Login(installation, sid: "sid-new", key: new)
            #expect(try await broker.token(login.exchange(by: "app2")).status == 200)
            #expect(try await broker.token(old.exchange(by: "app2")).status == 200)
            // It admits no new login: a thief of the key could name any user.
            let unseen = try Login(installation, sid: "sid-unseen")
            #expect(try await broker.token(unseen.exchange(by: "app2")).status == 400)

            // A thumbprint may begin with a hyphen.
            for kid in ["new/1", Base64URL.encode(try installation.identityProviderKey.publicKey.thumbprint)] {
                let plan = try await installation.command("idp-key", "revoke", "--", kid)
                #expect(plan.contains("at most those with ") && plan.contains(" of 1 user"), "\(plan)")
                try await installation.command("idp-key", "revoke", "--execute", "--reason", "stolen", "--", kid)
            }
            for login in [login, old] {
                try await broker.wait { try await $0.token(login.exchange(by: "app2")).status == 400 }
            }
            #expect(try await installation.audit().contains { $0.contains("subject_token_key_revoked") })
        }
    }

    @Test func `a revocation counts though its time cannot be read; one of no key that can be told is an outage`()
        async throws
    {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let broker = try await installation.startBroker("broker").ready()
            let login = try Login(installation, sid: "sid-1")
            #expect(try await broker.token(login.exchange(by: "app2")).status == 200)

            try await installation.cluster.psql(
                """
                INSERT INTO native_sso.idp_key
                SELECT issuer, repeat('!', 43), kid, algorithm, public_jwk, first_seen_at, last_seen_at, tag, now()
                FROM native_sso.idp_key
                """, database: installation.database)
            try await broker.wait { try await $0.token(login.exchange(by: "app2")).isOutage }
            #expect(try await broker.process.errorLine(containing: "cannot be told by its thumbprint") != nil)
            try await installation.cluster.psql(
                "DELETE FROM native_sso.idp_key WHERE thumbprint = repeat('!', 43)", database: installation.database)
            try await broker.wait { try await $0.token(login.exchange(by: "app2")).status == 200 }

            try await installation.cluster.psql(
                "UPDATE native_sso.idp_key SET revoked_at = 'infinity'", database: installation.database)
            try await broker.wait { try await $0.token(login.exchange(by: "app2")).status == 400 }
        }
    }
}

extension Installation {
    /// Runs SQL with the rights of the service.
    private func asService(_ sql: String) async throws {
        try await cluster.psql("SET ROLE native_sso_broker; \(sql)", database: database)
    }

    /// Puts a key into the table, or octets that are not a key.
    fileprivate func plant(_ thumbprint: String, _ jwk: String) async throws {
        try await asService(
            """
            SELECT native_sso.record_idp_keys('\(Self.identityProvider)', '{\(thumbprint)}', '{planted}', '{ES256}',
                ARRAY['\(jwk)'], ARRAY[now() - interval '90 days'], ARRAY[now() + interval '90 days'],
                ARRAY[repeat('A', 43)])
            """)
    }

    fileprivate func lengthenLives() async throws {
        try await asService(
            """
            SELECT native_sso.record_idp_keys(issuer, ARRAY[thumbprint], ARRAY[kid], ARRAY[algorithm],
                ARRAY[public_jwk::text], ARRAY[first_seen_at], ARRAY[last_seen_at + interval '90 days'], ARRAY[tag])
            FROM native_sso.idp_key
            """)
    }

    fileprivate func revoke(_ key: JSONWebKey) async throws {
        try await cluster.psql(
            """
            UPDATE native_sso.idp_key SET revoked_at = now(), public_jwk = '{}'
            WHERE thumbprint = '\(Base64URL.encode(key.thumbprint))'
            """, database: database)
    }
}
