import Testing

/// What every `GrantRegistry` must do, whatever it is made of.
///
///     @Test(arguments: GrantRegistryConformance.checks)
///     func conforms(_ check: GrantRegistryCheck) async throws { try await check.run(on: fixture) }
package enum GrantRegistryConformance {
    package static let checks: [GrantRegistryCheck] =
        exchangeRefusals + exchangeChecks + firstSightChecks + nameChecks + refreshRefusals + refreshChecks
        + limitChecks + raceChecks + proofChecks + runChecks + handoffChecks
}

/// One promise of a registry. It fails by `#expect`, so it runs inside a test.
package struct GrantRegistryCheck: Sendable, CustomTestStringConvertible {
    package let name: String
    private let body: @Sendable (any GrantRegistryFixture) async throws -> Void

    init(_ name: String, _ body: @escaping @Sendable (any GrantRegistryFixture) async throws -> Void) {
        self.name = name
        self.body = body
    }

    package func run(on fixture: any GrantRegistryFixture) async throws { try await body(fixture) }

    package var testDescription: String { name }
}

/// What a registry holds at one moment, but for the proofs that were used: whatever is refused uses its own.
struct RegistryLook: Sendable, Equatable {
    let state: String
    let counts: RegistryCounts

    init(at fixture: any GrantRegistryFixture) async throws {
        state = try await fixture.digestOfState()
        var counts = try await fixture.counts()
        counts.usedProofs = 0
        self.counts = counts
    }
}

extension GrantRegistryFixture {
    /// Runs `body`, which must leave every row as it was, the audit's included.
    func writingNothing<Value>(_ body: () async throws -> Value) async throws -> Value {
        let before = try await RegistryLook(at: self)
        let value = try await body()
        let after = try await RegistryLook(at: self)
        #expect(before == after, "something was written")
        return value
    }

    /// Runs `body` and tells by how much it changed each count.
    func counting<Value>(_ body: () async throws -> Value) async throws -> (Value, RegistryCounts) {
        let before = try await counts()
        let value = try await body()
        let after = try await counts()
        return (value, after - before)
    }
}

extension RegistryCounts {
    static func - (a: RegistryCounts, b: RegistryCounts) -> RegistryCounts {
        RegistryCounts(
            sessions: a.sessions - b.sessions, grants: a.grants - b.grants, liveGrants: a.liveGrants - b.liveGrants,
            devices: a.devices - b.devices, auditRows: a.auditRows - b.auditRows,
            usedProofs: a.usedProofs - b.usedProofs)
    }
}
