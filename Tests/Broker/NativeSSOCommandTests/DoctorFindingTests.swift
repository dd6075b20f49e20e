import NativeSSO
import Testing

@testable import native_sso

/// Faults that one test must not make on a server that others use.
@Suite struct DoctorFindingTests {
    private func state(_ check: String, in findings: [Finding]) -> Finding.State? {
        findings.first { $0.check == check }?.state
    }

    @Test(arguments: [(130_012, Finding.State.failed), (139_999, .failed), (140_000, .ok), (180_001, .ok)])
    func version(number: Int, expected: Finding.State) {
        var facts = DatabaseFacts()
        facts.version = number
        #expect(state("database.version", in: facts.findings(pool: 8)) == expected)
    }

    @Test(
        arguments: [
            ("", 0, Finding.State.ok), ("b", 1, .ok), ("b", 0, .failed), ("b, c", 1, .ok), ("ANY 2 (b, c, d)", 2, .ok),
            ("ANY 2 (b, c, d)", 1, .failed), ("first 2(b,c)", 1, .failed), ("2 (b, c)", 1, .failed), ("(b)", 1, .ok),
        ] as [(String, Int64, Finding.State)])
    func standbys(names: String, connected: Int64, expected: Finding.State) {
        var facts = DatabaseFacts()
        (facts.synchronousStandbys, facts.standbys) = (names, connected)
        #expect(state("database.standbys", in: facts.findings(pool: 8)) == expected)
    }

    @Test(arguments: [(12, Finding.State.warning), (13, .ok), (-1, .ok)] as [(Int64, Finding.State)])
    func connections(limit: Int64, expected: Finding.State) {
        var facts = DatabaseFacts()
        facts.connectionLimit = limit
        #expect(state("database.connections", in: facts.findings(pool: 8)) == expected)
    }

    private func database(readOnly: Bool = false, waits: Bool = false, ahead: Int64 = 0) -> [Finding] {
        DatabaseState(
            isReadOnly: readOnly, commitsMayBeLost: false, waitsForStandby: waits, milliseconds: 1_000_000 + ahead
        ).findings(at: 1_000_000)
    }

    /// By the same limit as readiness.
    @Test(
        arguments: [(30_000, Finding.State.ok), (-30_000, .ok), (30_001, .failed), (-30_001, .failed)]
            as [(Int64, Finding.State)])
    func clock(ahead: Int64, expected: Finding.State) {
        #expect(state("database.clock", in: database(ahead: ahead)) == expected)
        #expect(state("database.commits", in: database(ahead: ahead)) == .ok)
    }

    @Test func commits() {
        #expect(state("database.commits", in: database()) == .ok)
        #expect(state("database.commits", in: database(readOnly: true)) == .failed)
        #expect(state("database.commits", in: database(waits: true)) == .failed)
    }
}
