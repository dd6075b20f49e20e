import BrokerTesting
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

    @Test(
        arguments: [
            (0, 48, Finding.State.warning, "no broker has swept yet"), (25, 48, .warning, "a broker swept last at 20"),
            (1, 48, .ok, "a broker swept last at 20"), (0, 1, .ok, "no broker has swept yet"),
        ] as [(Int64, Int64, Finding.State, String)])
    func sweeps(swept: Int64, migrated: Int64, expected: Finding.State, words: String) {
        let now = UnixTime(seconds: 1_800_000_000)
        let facts = RegistryFacts(
            sweptAt: swept == 0 ? 0 : now.seconds - swept * 3600, migratedAt: now.seconds - migrated * 3600,
            missingMonths: 0)
        let finding = facts.findings(at: now).first
        #expect(finding?.state == expected && finding?.seen.hasPrefix(words) == true)
    }

    @Test(
        arguments: [(-1, Finding.State.failed, "expired at"), (20, .warning, "expires at"), (22, .ok, "expires at")]
            as [(Int64, Finding.State, String)])
    func certificates(days: Int64, expected: Finding.State, words: String) throws {
        let now = SystemClock().now
        let certificate = try TestCertificate(
            notBefore: now.adding(.days(-100)), notAfter: UnixTime(seconds: now.seconds + days * 86_400))
        let chain = try TemporaryFile(certificate.certificate, mode: 0o644)
        let key = try TemporaryFile(certificate.key)
        let configuration = try SampleFile.read(
            SampleFile.adding("public: { tls: { certificate: \(chain.path), key: \(key.path) } }"))
        let finding = HostDoctor.certificates(configuration).first
        #expect(finding?.check == "certificate.public" && finding?.state == expected)
        #expect(finding?.seen.contains(words) == true)
    }

    @Test(
        arguments: [(-1, Finding.State.failed, "expired at"), (13, .warning, "expires at"), (15, .ok, "expires at")]
            as [(Int64, Finding.State, String)])
    func certificateOfAProvider(days: Int64, expected: Finding.State, words: String) throws {
        let now = UnixTime(seconds: 1_800_000_000)
        let provider = try #require(try SampleFile.read(SampleFile.minimal).identityProviders.first)
        let finding = ProviderDoctor(provider: provider, isDevelopment: false)
            .certificate(UnixTime(seconds: now.seconds + days * 86_400), at: now)
        #expect(finding.state == expected && finding.seen.contains(words))
    }

    @Test(
        arguments: [
            ("listen: 192.0.2.1:8080, plain_http: behind-proxy, trusted_proxies: [10.0.0.0/8]", .warning, "65,536"),
            ("listen: 192.0.2.1:8080, plain_http: behind-proxy", .warning, "share the limits"),
            ("trusted_proxies: [10.0.0.1]", .ok, "1 trusted address or block"),
        ] as [(String, Finding.State, String)])
    func proxies(listener: String, expected: Finding.State, words: String) throws {
        let finding = HostDoctor.proxies(try SampleFile.read(SampleFile.adding("public: { \(listener) }")))
        #expect(finding.state == expected && finding.seen.contains(words))
    }

    @Test(arguments: [
        ("listen: 192.0.2.1:8080, plain_http: behind-proxy", "Cannot assign requested address"),
        ("listen: \"unix:/nonexistent/public\", trusted_proxies: [unix]", "the directory /nonexistent: No such file"),
    ])
    func listeners(listener: String, words: String) async throws {
        let yaml = SampleFile.adding("public: { \(listener) }\ninternal: { listen: 127.0.0.1:0 }")
        let configuration = try SampleFile.read(yaml)
        let finding = await HostDoctor.listeners(configuration).first
        #expect(finding?.check == "listener.public" && finding?.state == .failed && finding?.remedy?.isEmpty == false)
        #expect(finding?.seen.contains(words) == true)
    }
}
