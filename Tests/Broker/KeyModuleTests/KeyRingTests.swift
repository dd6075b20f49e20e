import Crypto
import Foundation
import JOSE
import KeyModule
import NativeSSO
import StrictCoding
import Synchronization
import Testing

@Suite("The key ring behind the ports")
struct KeyRingTests {
    private let directory: TemporaryDirectory
    private let provider: FileKeyProvider
    private let ring = KeyRing()

    init() throws {
        directory = try TemporaryDirectory()
        provider = FileKeyProvider(directory: directory.path)
    }

    private func device() throws -> DeviceValue {
        try #require(DeviceValue("0123456789abcdefghijkl", profile: .deviceID))
    }

    private func issuer(_ string: String = "https://idp.example.com") throws -> Issuer {
        try #require(Issuer(string))
    }

    /// A complete set of new keys, which the ring has.
    private func adopted() async throws -> [KeyRecord] {
        let records = try await provider.completeSet()
        #expect(ring.adopt(await KeySet(records, from: provider)))
        return records
    }

    /// Runs `call` and expects an outage of the key module.
    private func expectOutage<Value>(
        _ call: () async throws(PortError) -> Value, sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        do throws(PortError) {
            _ = try await call()
            Issue.record("no outage", sourceLocation: sourceLocation)
        } catch {
            guard case .outage(let outage) = error, outage.component == .keyModule else {
                Issue.record("\(error)", sourceLocation: sourceLocation)
                return
            }
        }
    }

    private func expectOutageOfEverything() async throws {
        let (device, issuer) = (try device(), try issuer())
        await expectOutage { () async throws(PortError) in
            try await ring.sign(payload: [], type: .accessToken, algorithm: .es256)
        }
        await expectOutage { () throws(PortError) in try ring.algorithm(nil) }
        await expectOutage { () throws(PortError) in try ring.currentKeyID }
        await expectOutage { () async throws(PortError) in try await ring.digest(device, at: issuer) }
        await expectOutage { () async throws(PortError) in try await ring.tag(.providerKey, []) }
    }

    // MARK: Outages

    @Test func `an empty ring is an outage for every port`() async throws {
        try await expectOutageOfEverything()
        await expectOutage { () async throws(PortError) in try await ring.tag([], keyID: 1) }
    }

    @Test func `keys that are only published make nothing`() async throws {
        let records = [
            KeyRecord.of(try provider.generateSigningKey(.es256, modulusBits: 0), .accessToken, .published),
            .of(try provider.generateRefreshTokenKey(id: 1), .refreshToken, .published),
            .of(try provider.generateDeviceKey(), .device, .published),
        ]
        let set = await KeySet(records, from: provider)
        #expect(set.missing == KeyUse.allCases)
        #expect(set.problems.isEmpty)
        #expect(ring.adopt(set))
        try await expectOutageOfEverything()
        #expect(try await ring.tag([1], keyID: 1) != nil)  // another broker may already use the key
    }

    @Test func `files that are gone are an outage, each explained`() async throws {
        let records = try await provider.completeSet()
        for name in try directory.names { try FileManager.default.removeItem(atPath: directory.file(name)) }
        let set = await KeySet(records, from: provider)
        #expect(set.missing == KeyUse.allCases)
        #expect(set.problems.map(\.use) == KeyUse.allCases)
        for problem in set.problems { #expect(problem.explanation.contains("does not exist: copy it from the broker")) }
        #expect(ring.adopt(set))
        try await expectOutageOfEverything()
        // The token may be valid. Without the key the ring cannot tell.
        await expectOutage { () async throws(PortError) in try await ring.tag([], keyID: 1) }
    }

    // MARK: MACs

    /// Lengths precede the fields, so that no octet moves between them.
    @Test func `a record's tag is HMAC-SHA-256 of its use and its fields under the device key`() async throws {
        _ = try await adopted()
        let fields: [[UInt8]] = [[1, 2], [3]]
        let tag = try await ring.tag(.providerKey, fields)
        let key = SymmetricKey(data: try directory.read("device.key"))
        let message = Array("native-sso record\0provider key\0".utf8) + [0, 0, 0, 2, 1, 2, 0, 0, 0, 1, 3]
        #expect(tag == Array(HMAC<SHA256>.authenticationCode(for: message, using: key)))
    }

    @Test func `a tag is HMAC-SHA-256 under the key of that id`() async throws {
        _ = try await adopted()
        #expect(try ring.currentKeyID == 1)
        let key = SymmetricKey(data: try directory.read("refresh-token-1.key"))
        for message in [[], Array("nsr1.".utf8), [UInt8](repeating: 0xA5, count: 1000)] {
            #expect(
                try await ring.tag(message, keyID: 1)
                    == Array(HMAC<SHA256>.authenticationCode(for: message, using: key)))
        }
        #expect(try await ring.tag([], keyID: 0) == nil)
        #expect(try await ring.tag([], keyID: 2) == nil)
    }

    @Test func `tags under a retired key are known, under a removed one not`() async throws {
        let (old, new) = (try provider.generateRefreshTokenKey(id: 1), try provider.generateRefreshTokenKey(id: 2))
        #expect(
            ring.adopt(
                await KeySet([.of(old, .refreshToken, .retired), .of(new, .refreshToken)], from: provider)))
        #expect(try ring.currentKeyID == 2)
        #expect(try await ring.tag([], keyID: 1) != nil)
        #expect(
            ring.adopt(
                await KeySet([.of(old, .refreshToken, .removed), .of(new, .refreshToken)], from: provider)))
        #expect(try await ring.tag([], keyID: 1) == nil)
    }

    /// Another broker has made a key, and this one has not read it yet.
    @Test func `an unknown key is looked for in a read that begins then`() async throws {
        let old = try await adopted()
        let mac = try provider.generateRefreshTokenKey(id: 2)
        let new = await KeySet(old + [.of(mac, .refreshToken, .published)], from: provider)
        let reads = Mutex(0)
        ring.readsAgain { [ring] () async throws(PortError) in
            reads.withLock { $0 += 1 }
            #expect(ring.adopt(new))
        }
        for (id, isKnown, count) in [(1, true, 0), (2, true, 1), (2, true, 1), (3, false, 2)] as [(UInt8, Bool, Int)] {
            #expect(try await (ring.tag([], keyID: id) != nil) == isKnown)
            #expect(reads.withLock { $0 } == count)
        }
        ring.readsAgain { () async throws(PortError) in throw .outage(Outage(.keyModule, "no read")) }
        #expect(try await ring.tag([], keyID: 1) != nil)
        await expectOutage { () async throws(PortError) in try await ring.tag([], keyID: 3) }
    }

    /// The read found new keys that cannot be used, so the present ones stay, and what is unknown may be a new one's.
    @Test func `while the newest keys cannot be loaded, an unknown key is an outage`() async throws {
        let records = try await adopted()
        let mac = try #require(records.first { $0.use == .refreshToken })
        #expect(try await ring.tag([], keyID: 2) == nil)
        let missing = mac.changed(kid: "new", reference: "refresh-token-2.key")
        #expect(!ring.adopt(await KeySet(records + [missing], from: provider)))
        await expectOutage { () async throws(PortError) in try await ring.tag([], keyID: 2) }
        await expectOutage { () async throws(PortError) in try await ring.tag([], keyID: 3) }
        #expect(ring.adopt(await KeySet(records, from: provider)))
        #expect(try await ring.tag([], keyID: 3) == nil)
    }

    @Test func `beside a key that cannot even be named, an unknown id is an outage`() async throws {
        let records = try await provider.completeSet()
        let known = try #require(records.first { $0.use == .refreshToken })
        let sets = [
            await KeySet(records + [known.changed(kid: "x", reference: "hsm:2")], from: provider),
            await KeySet(records, unknownUses: [.refreshToken], from: provider),
        ]
        for set in sets {
            #expect(ring.adopt(set))
            #expect(try await ring.tag([], keyID: 1) != nil)
            await expectOutage { () async throws(PortError) in try await ring.tag([], keyID: 2) }
        }
        #expect(ring.adopt(await KeySet(records, from: provider)))
        #expect(try await ring.tag([], keyID: 2) == nil)
    }

    @Test func `a device digest is bound to its issuer, and to the sort of its value`() async throws {
        _ = try await adopted()
        let here = try await ring.digest(try device(), at: try issuer())
        #expect(try await ring.digest(try device(), at: try issuer()) == here)
        #expect(try await ring.digest(try device(), at: try issuer("https://idp.example.co")) != here)

        let key = SymmetricKey(data: try directory.read("device.key"))
        let message =
            Array("native-sso device id\0".utf8) + [0, 23] + Array("https://idp.example.com0123456789abcdefghijkl".utf8)
        #expect(here.octets == Array(HMAC<SHA256>.authenticationCode(for: message, using: key)))
        let secrets = try [Profile.deviceSecret, .deviceSecretTransitional].map {
            try #require(DeviceValue("0123456789abcdefghijkl", profile: $0))
        }
        let digests = [
            try await ring.digest(secrets[0], at: issuer()), try await ring.digest(secrets[1], at: issuer()),
        ]
        #expect(digests[0] == digests[1] && digests[0] != here)
    }

    // MARK: JWKS

    @Test func `the key set shows keys that sign, will sign or have signed`() async throws {
        let keys = try (0..<5).map { _ in try provider.generateSigningKey(.es256, modulusBits: 0) }
        let states: [KeyState] = [.pending, .published, .active, .retired, .removed]
        let set = await KeySet(zip(keys, states).map { .of($0, .accessToken, $1) }, from: provider)
        let published = try JSONWebKeySet(document: set.jwks).keys.compactMap(\.keyID)
        #expect(Set(published) == Set(keys[1...3].map(\.kid)))
        #expect(set.signingKIDs == [keys[2].kid])
    }

    @Test func `a stranger's key in the database is not published`() async throws {
        let mine = try provider.generateSigningKey(.es256, modulusBits: 0)
        let stranger = KeyRecord(
            kid: String(repeating: "A", count: 43), use: .accessToken, algorithm: .es256,
            reference: String(repeating: "A", count: 43) + ".pem", publicJWK: mine.publicJWK, state: .retired,
            createdAt: UnixTime(seconds: 0))
        let set = await KeySet([.of(mine, .accessToken), stranger], from: provider)
        #expect(try JSONWebKeySet(document: set.jwks).keys.compactMap(\.keyID) == [mine.kid])
        #expect(set.problems.map(\.kid) == [stranger.kid])
    }

    // MARK: Suspension

    @Test func `a suspended key issues nothing new, even if its set cannot be loaded again, and the others go on`()
        async throws
    {
        let records = try await adopted()
        let jwks = try #require(ring.current).jwks
        ring.suspendedKIDs = [records[0].kid]
        try directory.write([], to: records[0].reference)
        #expect(!ring.adopt(await KeySet(records, from: provider)))
        await expectOutage { () throws(PortError) in try ring.algorithm(nil) }
        await expectOutage { () throws(PortError) in try ring.algorithm(.es256) }
        #expect(try #require(ring.current).jwks == jwks)
        #expect(try #require(ring.current).missing.isEmpty)
        try ring.checkIssuing()
        #expect(try await ring.tag([1], keyID: 1) != nil)
        ring.suspendedKIDs = [records[1].kid]
        #expect(try ring.algorithm(nil) == .es256)
        await expectOutage { () throws(PortError) in try ring.checkIssuing() }
        // For nonces, and to check what apps present.
        #expect(try ring.currentKeyID == 1)
        #expect(try await ring.tag([1], keyID: 1) != nil)
        ring.suspendedKIDs = []
        try ring.checkIssuing()
    }

    @Test func `a client does not fall back to another algorithm when the key of the first is suspended`() async throws
    {
        let records = try await provider.completeSet()
        let other = KeyRecord.of(try provider.generateSigningKey(.edDSA, modulusBits: 0), .accessToken)
        #expect(ring.adopt(await KeySet(records + [other], from: provider)))
        ring.suspendedKIDs = [records[0].kid]
        await expectOutage { () throws(PortError) in try ring.algorithm(nil) }
        #expect(try ring.algorithm(.edDSA) == .edDSA)
    }

    @Test func `tokens can be issued while one signing key and the key of refresh tokens are left`() async throws {
        #expect(!ring.canIssue)
        let records = try await provider.completeSet()
        let other = KeyRecord.of(try provider.generateSigningKey(.edDSA, modulusBits: 0), .accessToken)
        let next = KeyRecord.of(try provider.generateSigningKey(.es256, modulusBits: 0), .accessToken, .published)
        #expect(ring.adopt(await KeySet(records + [other, next], from: provider)))
        for (suspended, canIssue) in [
            ([], true), ([records[0].kid], true), ([next.kid], true), ([records[0].kid, other.kid], false),
            ([records[1].kid], false),
        ] as [(Set<String>, Bool)] {
            ring.suspendedKIDs = suspended
            #expect(ring.canIssue == canIssue, "\(suspended)")
        }
    }

    // MARK: Replicas

    @Test func `each replica signs by its own key, and publishes those of all`() async throws {
        let others = try TemporaryDirectory()
        let (here, there) = (provider, FileKeyProvider(directory: others.path))
        let shared = try await here.completeSet()
        for record in shared { #expect(try here.copy(record, to: there)) }
        let mine = KeyRecord.of(try here.generateSigningKey(.es256, modulusBits: 0), .accessToken, replica: "a")
        let theirs = KeyRecord.of(try there.generateSigningKey(.es256, modulusBits: 0), .accessToken, replica: "b")
        let records = shared + [mine, theirs]
        // Before the public half is here: this broker goes on, and does not begin to be ready.
        let early = await KeySet(records, of: "a", from: here)
        #expect(early.problems.map(\.kid) == [theirs.kid])
        #expect(early.problems[0].explanation.contains("\(theirs.kid).jwk does not exist"))
        #expect(ring.adopt(await KeySet(shared, from: here)) && ring.adopt(early))
        #expect(early.signingKIDs == [mine.kid])
        let beginning = KeyRing()
        #expect(beginning.adopt(early) && !beginning.hasBeenWhole)

        #expect(try here.add(try there.signingKey(theirs).publicKey, of: theirs))
        #expect(try there.add(try here.signingKey(mine).publicKey, of: mine))
        #expect(try !there.add(try here.signingKey(mine).publicKey, of: mine))
        let sets = [await KeySet(records, of: "a", from: here), await KeySet(records, of: "b", from: there)]
        #expect(sets.allSatisfy { $0.problems.isEmpty && $0.missing.isEmpty })
        #expect(sets.map(\.signingKIDs) == [[mine.kid], [theirs.kid]])
        for set in sets { #expect(try JSONWebKeySet(document: set.jwks).keys.count == 3) }
        #expect(ring.adopt(sets[0]) && ring.hasBeenWhole)
        // A broker without a name signs with the key of all.
        let unnamed = await KeySet(records, from: here)
        #expect(unnamed.signingKIDs == [shared[0].kid])
        // The one directory is stolen: its key goes alone, and its broker has the key of all.
        let rest = records.filter { $0.kid != theirs.kid }
        #expect(await KeySet(rest, of: "b", from: there).signingKIDs == [shared[0].kid])
        #expect(await KeySet(rest, of: "a", from: here).signingKIDs == [mine.kid])
        // A stranger's public key does not get in by the database, and not by another file.
        try directory.write(try directory.read("\(theirs.kid).jwk"), to: "\(shared[0].kid).jwk")
        #expect(throws: KeyError.self) { try here.publicKey(shared[0]) }
        for octets in [[], Array("{}".utf8)] {
            try directory.write(octets, to: "\(theirs.kid).jwk")
            #expect(throws: KeyError.file(path: directory.file("\(theirs.kid).jwk"), .noPublicKey)) {
                try here.publicKey(theirs)
            }
        }
        try there.destroy(mine)
        #expect(try !others.names.contains("\(mine.kid).jwk"))
    }

    // MARK: Replacement

    @Test func `a key that was removed stops signing even if its successor is damaged`() async throws {
        let records = try await adopted()
        let successor = try provider.generateSigningKey(.es256, modulusBits: 0)
        try directory.write([], to: successor.reference)
        #expect(ring.adopt(await KeySet([.of(successor, .accessToken)] + records[1...], from: provider)))
        await expectOutage { () async throws(PortError) in
            try await ring.sign(payload: [], type: .accessToken, algorithm: .es256)
        }
    }

    @Test func `keys are replaced while tasks sign`() async throws {
        let records = try await provider.completeSet()
        let successor = try provider.generateSigningKey(.es256, modulusBits: 0)
        let first = await KeySet(records, from: provider)
        let rest = Array(records[1...])
        let second = await KeySet(
            [.of(successor, .accessToken), records[0].retired] + rest, from: provider)
        #expect(ring.adopt(first))
        let keys = try JSONWebKeySet(document: second.jwks)
        try await withThrowingTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<200 {
                        let token = try await ring.sign(
                            payload: Array("{}".utf8), type: .accessToken, algorithm: .es256)
                        _ = try CompactJWS(token).verified(by: keys, allowing: [.es256])
                    }
                }
            }
            group.addTask {
                for turn in 0..<500 { #expect(ring.adopt(turn.isMultiple(of: 2) ? second : first)) }
            }
            try await group.waitForAll()
        }
    }

    // MARK: Secrets

    @Test func `a key prints as asterisks`() async throws {
        let records = try await provider.completeSet()
        let (signing, mac) = (try provider.signingKey(records[0]), try provider.macKey(records[1]))
        for text in ["\(signing)", "\(mac)", String(reflecting: mac)] { #expect(text == "****") }
        var dumped = ""
        dump(signing, to: &dumped)
        dump(mac, to: &dumped)
        #expect(!dumped.contains("signer") && !dumped.contains("secret"))
    }
}

extension KeyRecord {
    fileprivate var retired: KeyRecord {
        KeyRecord(
            kid: kid, use: use, algorithm: algorithm, reference: reference, publicJWK: publicJWK, state: .retired,
            createdAt: createdAt)
    }
}
