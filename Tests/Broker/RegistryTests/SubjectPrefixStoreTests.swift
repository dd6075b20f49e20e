import NativeSSO
import PostgresClient
import Testing

@testable import Registry

@Suite("Prefixes of subjects in use", .serialized)
struct SubjectPrefixStoreTests {
    private static let issuer = Issuer(validated: "https://idp.example.com")
    private static let other = Issuer(validated: "https://other.example.com")

    @Test("A prefix may change until the identity provider has a session, and not from then on")
    func fixedOnceUsed() async throws {
        try await TestDatabase.withFixture { database in
            let store = SubjectPrefixStore(database: database.service)
            try await store.record([Self.issuer: "wrong|", Self.other: "other|"])
            #expect(try await store.inUse().isEmpty)
            try await store.record([Self.issuer: "partner|"])
            _ = try await World.make(in: database)
            #expect(try await store.inUse() == [Self.issuer: "partner|"])
            try await store.record([Self.issuer: "changed|", Self.other: ""])
            #expect(try await store.inUse() == [Self.issuer: "partner|"])
        }
    }

    @Test("A sweep notes the use before the last session goes")
    func outlivesItsSessions() async throws {
        try await TestDatabase.withFixture { database in
            let store = SubjectPrefixStore(database: database.service)
            try await store.record([Self.issuer: ""])
            _ = try await World.make(in: database)
            _ = try await SweeperTests.sweeper(database.service).sweep(unlessWithin: 0)
            _ = try await database.run(Statement("DELETE FROM native_sso.sso_grant"), [])
            _ = try await database.run(Statement("DELETE FROM native_sso.session"), [])
            #expect(try await store.inUse() == [Self.issuer: ""])
        }
    }
}
