import KeyModule
import NativeSSO
import Testing

@Suite("The quota of a key")
struct KeyQuotaTests {
    private let directory: TemporaryDirectory
    private let provider: FileKeyProvider

    init() throws {
        directory = try TemporaryDirectory()
        provider = FileKeyProvider(directory: directory.path)
    }

    @Test func `a key that has made its quota begins nothing more, finishes what was begun, and others go on`()
        async throws
    {
        let records = try await provider.completeSet()
        let other = KeyRecord.of(try provider.generateSigningKey(.edDSA, modulusBits: 0), .accessToken)
        let ring = KeyRing(quota: 5)
        #expect(ring.adopt(await KeySet(records + [other], from: provider)))
        var made = 0
        let end = ContinuousClock.now + .seconds(20)
        // At least 5, and a few more if the machine is slow.
        while (try? ring.algorithm(nil)) != nil, ContinuousClock.now < end {
            _ = try await ring.sign(payload: [], type: .accessToken, algorithm: .es256)
            made += 1
        }
        #expect(made >= 5 && ContinuousClock.now < end)
        _ = try await ring.sign(payload: [], type: .accessToken, algorithm: .es256)
        #expect(try ring.algorithm(.edDSA) == .edDSA)
        while (try? ring.algorithm(nil)) == nil, ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(try ring.algorithm(nil) == .es256)
    }

    @Test func `signatures that were begun together count beyond the quota`() async throws {
        let records = try await provider.completeSet()
        let ring = KeyRing(quota: 5)
        #expect(ring.adopt(await KeySet(records, from: provider)))
        for _ in 0..<100 { _ = try await ring.sign(payload: [], type: .accessToken, algorithm: .es256) }
        // The quota alone would have room again by now. 100 signatures take the room of 20 s.
        try await Task.sleep(for: .milliseconds(500))
        #expect(throws: PortError.self) { try ring.algorithm(nil) }
    }
}
