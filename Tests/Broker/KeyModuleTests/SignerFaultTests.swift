import ChildProcesses
import Foundation
import Glibc
import JOSE
@testable import KeyModule
import NativeSSO
import StrictCoding
import Testing

@Suite("The signer process when something is wrong", .serialized)
struct SignerFaultTests {
    private static let limit = Duration.seconds(10)

    private func until(_ what: String, _ condition: () async -> Bool) async throws {
        let end = ContinuousClock.now + Self.limit
        while !(await condition()) {
            guard ContinuousClock.now < end else {
                Issue.record("\(what) did not happen")
                return
            }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    private func defect<Value>(_ call: () async throws(KeyError) -> Value) async -> SignerDefect? {
        do throws(KeyError) {
            _ = try await call()
            return nil
        } catch {
            if case .signer(let defect) = error { return defect }
            return nil
        }
    }

    @Test func `a signer that is gone is known at once, and back within 5 s`() async throws {
        let signer = try TestSigner.started()
        let provider = signer.provider()
        let records = try await provider.completeSet()
        let ring = KeyRing()
        #expect(ring.adopt(await KeySet(records, from: provider)))
        _ = try ring.algorithm(nil)
        let message = Array("nsr1.".utf8)
        let tag = try await ring.tag(message, keyID: 1)

        signer.stop()
        try await until("the outage") { (try? ring.algorithm(nil)) == nil }
        let start = ContinuousClock.now
        for _ in 0..<100 {
            await #expect(throws: PortError.self) {
                try await ring.sign(payload: [], type: .accessToken, algorithm: .es256)
            }
            await #expect(throws: PortError.self) { try await ring.tag(message, keyID: 1) }
        }
        #expect(ContinuousClock.now - start < .seconds(2))
        // What only verifies goes on.
        #expect(try JSONWebKeySet(document: try #require(ring.current).jwks).keys.count == 1)

        try signer.start()
        try await until("the return") { (try? ring.algorithm(nil)) != nil }
        #expect(try await ring.tag(message, keyID: 1) == tag)
    }

    @Test func `a broker that starts without its signer finds it later`() async throws {
        let signer = try TestSigner()
        let provider = signer.provider()
        let records = try await signer.maker.completeSet()
        let early = await KeySet(records, from: provider)
        #expect(early.problems.count == 3)
        #expect(early.problems.allSatisfy { $0.isOutage && $0.explanation.contains("there is no such socket") })
        try signer.start()
        try await until("the connection") { await KeySet(records, from: provider).problems.isEmpty }
    }

    @Test func `calls in flight end when the signer is killed`() async throws {
        let signer = try TestSigner()
        let (calls, call) = AsyncStream.makeStream(of: Void.self)
        try signer.start(serving: SlowProvider(maker: signer.maker, pause: .seconds(60)) { call.yield() })
        let provider = signer.provider(deadline: .seconds(60))
        let key = try await provider.newSigningKey()
        let message = KeyProviderConformance.signingInput(key, "x")
        let defects = await withTaskGroup(of: SignerDefect?.self) { group in
            for _ in 0..<20 {
                group.addTask { await defect { () async throws(KeyError) in try await key.signature(over: message) } }
            }
            group.addTask {
                var inFlight = calls.makeAsyncIterator()
                for _ in 0..<20 { await inFlight.next() }
                signer.stop()
                return nil
            }
            return await group.reduce(into: [SignerDefect]()) { all, one in if let one { all.append(one) } }
        }
        #expect(defects.count == 20)
        #expect(defects.allSatisfy { if case .lost = $0 { true } else { false } })
    }

    @Test func `a slow provider delays its own calls only, and each has a deadline`() async throws {
        let signer = try TestSigner()
        try signer.start(serving: SlowProvider(maker: signer.maker, pause: .milliseconds(700)))
        let provider = signer.provider(deadline: .milliseconds(400))
        let records = try await provider.completeSet()
        let key = try await provider.signingKey(records[0])
        let mac = try await provider.macKey(records[1])
        async let slow = defect { () async throws(KeyError) in
            try await key.signature(over: KeyProviderConformance.signingInput(key, "x"))
        }
        for _ in 0..<100 { _ = try await mac.tag(Array("nsr1.".utf8)) }
        #expect(await slow == .noAnswer)
        let patient = try await signer.provider(deadline: .seconds(5)).signingKey(records[0])
        let message = KeyProviderConformance.signingInput(key, "y")
        let signature = try await patient.signature(over: message)
        #expect(patient.publicKey.verifies(signature, of: message, algorithm: .es256))
    }

    @Test func `a call that was begun and dropped ends no connection`() async throws {
        let signer = try TestSigner.started()
        let client = SignerClient(socket: signer.socket, deadline: .milliseconds(300))
        let record = KeyRecord.of(try await signer.maker.generateRefreshTokenKey(id: 1), .refreshToken)
        let key = try await SignerKeyProvider(client).macKey(record)
        _ = key.beginTag(Array("nsr1.".utf8))
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .milliseconds(800) { await Task.yield() }
        #expect(client.failure == nil)
        #expect(try await key.tag(Array("nsr1.".utf8)).count == 32)
        #expect(!signer.lines.contains { $0.contains("disconnected") })
    }

    @Test func `another account is turned away, and told why`() async throws {
        let signer = try TestSigner()
        try signer.start(users: [geteuid() + 1])
        let provider = signer.provider()
        let records = try await signer.maker.completeSet()
        #expect(
            await defect { () async throws(KeyError) in try await provider.signingKey(records[0]) }
                == .turnedAway("the account \(geteuid()) is not in signer.users"))
        #expect(signer.lines.contains { $0.contains("strangerRefused") })
        #expect(signer.counts.isEmpty)
    }

    @Test func `it signs nothing but tokens of its issuer with a bounded life`() async throws {
        let signer = try TestSigner()
        try signer.start(longest: .hours(1))
        let provider = signer.provider()
        let record = KeyRecord.of(try await provider.generateSigningKey(.es256, modulusBits: 0), .accessToken)
        let key = try await provider.signingKey(record)
        let now = TestClock().now.seconds
        let other = String(repeating: "A", count: 43)
        func input(_ header: String, _ claims: String) -> [UInt8] {
            Array("\(Base64URL.encode(Array(header.utf8))).\(Base64URL.encode(Array(claims.utf8)))".utf8)
        }
        func header(alg: String = "ES256", typ: String = "at+jwt", kid: String? = nil, more: String = "") -> String {
            #"{"alg":"\#(alg)","typ":"\#(typ)","kid":"\#(kid ?? record.kid)"\#(more)}"#
        }
        let good = #"{"iss":"https://sso.example.com","exp":\#(now + 3600)}"#
        for message in [input(header(), good), input(header(typ: "JWT"), good)] {
            #expect(key.publicKey.verifies(try await key.signature(over: message), of: message, algorithm: .es256))
        }
        let bad: [(String, [UInt8])] = [
            ("nothing", []), ("no JWS", Array("hello".utf8)), ("no payload", Array(input(header(), good).prefix(60))),
            ("another typ", input(header(typ: "dpop+jwt"), good)), ("no typ", input(#"{"alg":"ES256"}"#, good)),
            ("another alg", input(header(alg: "none"), good)), ("another kid", input(header(kid: other), good)),
            ("more in the header", input(header(more: #","jku":"https://x.example"}"#), good)),
            ("another iss", input(header(), #"{"iss":"https://sso.example.org","exp":\#(now)}"#)),
            ("two iss", input(header(), #"{"iss":"https://sso.example.com","iss":"x","exp":\#(now)}"#)),
            ("no iss", input(header(), #"{"exp":\#(now)}"#)),
            ("no exp", input(header(), #"{"iss":"https://sso.example.com"}"#)),
            ("exp as text", input(header(), #"{"iss":"https://sso.example.com","exp":"1"}"#)),
            ("exp too late", input(header(), #"{"iss":"https://sso.example.com","exp":\#(now + 3700)}"#)),
            ("exp far away", input(header(), #"{"iss":"https://sso.example.com","exp":\#(Int64.max)}"#)),
            ("no JSON", input(header(), "iss")), ("a third part", input(header(), good) + Array(".e30".utf8)),
        ]
        for (what, message) in bad {
            let defect = await defect { () async throws(KeyError) in try await key.signature(over: message) }
            guard case .refused = defect else {
                Issue.record("\(what): \(String(describing: defect))")
                continue
            }
        }
        #expect(signer.lines.count { $0.contains("refused") } == bad.count)
        #expect(signer.counts.map(\.count) == [2])
    }

    /// Its clock was set back, or the broker's is ahead.
    @Test func `a signer whose clock is behind refuses by name`() async throws {
        let signer = try TestSigner()
        try signer.start(longest: .hours(24), clock: TestClock(behind: .hours(25)))
        let provider = signer.provider()
        let key = try await provider.newSigningKey()
        let message = KeyProviderConformance.signingInput(key, "x")
        let defect = await defect { () async throws(KeyError) in try await key.signature(over: message) }
        #expect(
            defect?.description.contains("clock of this machine is behind") == true, "\(String(describing: defect))")
    }

    @Test func `a MAC key tags only messages with the label of its use`() async throws {
        let signer = try TestSigner.started()
        let provider = signer.provider()
        let records = try await provider.completeSet()
        let (refresh, device) = (try await provider.macKey(records[1]), try await provider.macKey(records[2]))
        for (key, good, bad) in [
            (refresh, ["nsr1.", "native-sso dpop nonce\0x"], ["native-sso device id\0x", "", "nsr2.", "NSR1."]),
            (
                device, ["native-sso device id\0x", "native-sso device secret\0x", "native-sso record\0x"],
                ["nsr1.x", "native-sso dpop nonce\0", "native-sso device\0x"]
            ),
        ] {
            for label in good { #expect(try await key.tag(Array(label.utf8)).count == 32) }
            for label in bad {
                let defect = await defect { () async throws(KeyError) in try await key.tag(Array(label.utf8)) }
                guard case .refused = defect else {
                    Issue.record("\(label)")
                    continue
                }
            }
        }
    }

    @Test func `an account has a rate`() async throws {
        let signer = try TestSigner()
        try signer.start(rate: 10)
        let provider = signer.provider()
        let key = try await provider.macKey(.of(try await signer.maker.generateRefreshTokenKey(id: 1), .refreshToken))
        var refused = 0
        for _ in 0..<30 {
            if case .busy = await defect({ () async throws(KeyError) in try await key.tag(Array("nsr1.".utf8)) }) {
                refused += 1
            }
        }
        #expect(refused >= 15)
    }

    @Test(arguments: ["", "GET / HTTP/1.1\r\n\r\n", "\0\0\0\u{12}native-sso signer\u{2}", "\u{7F}\u{7F}\u{7F}\u{7F}"])
    func `nonsense on the socket harms neither the signer nor its other brokers`(text: String) async throws {
        let signer = try TestSigner.started()
        let provider = signer.provider()
        let key = try await provider.macKey(.of(try await signer.maker.generateRefreshTokenKey(id: 1), .refreshToken))
        for greets in [false, true] {
            let socket = try SignerSocket.connect(to: signer.socket, patience: 2)
            var octets: [UInt8] = []
            if greets { SignerProtocol.append(frame: SignerProtocol.greeting, [1], to: &octets) }
            octets += Array(text.utf8)
            _ = socket.write(octets)
            if text.isEmpty { socket.end() }
            #expect(try await key.tag(Array("nsr1.".utf8)).count == 32)
        }
        try await until("the end of the connections") { signer.lines.count { $0.contains("disconnected") } >= 1 }
        #expect(try await key.tag(Array("nsr1.".utf8)).count == 32)
    }

    @Test(arguments: ["", "HTTP/1.1 400\r\n", "\0\0\0\u{12}native-sso signer\u{2}", "\u{7F}\u{7F}\u{7F}\u{7F}"])
    func `a broker that meets nonsense waits for the signer`(text: String) async throws {
        let signer = try TestSigner()
        let listener = try SignerSocket.listen(at: signer.socket)
        let served = Task.detached {
            while let peer = listener.accept() {
                _ = peer.write(Array(text.utf8))
                peer.end()
            }
        }
        let provider = signer.provider()
        let record = KeyRecord.of(try await signer.maker.generateRefreshTokenKey(id: 1), .refreshToken)
        await #expect(throws: KeyError.self) { try await provider.macKey(record) }
        listener.end()
        await served.value
        unlink(signer.socket)
        try signer.start()
        try await until("the connection") { (try? await provider.macKey(record)) != nil }
    }

    @Test func `a second signer does not take the socket, a dead one's socket is replaced`() async throws {
        let signer = try TestSigner.started()
        #expect(throws: KeyError.self) { try signer.start() }
        signer.stop()
        try signer.start()
        try signer.directory.write("x".utf8, to: "file")
        #expect(throws: SignerDefect.self) { try SignerSocket.listen(at: signer.directory.file("file")) }
        #expect(throws: SignerDefect.self) {
            try SignerSocket.listen(at: "/tmp/" + String(repeating: "x", count: 120))
        }
    }

    @Test func `of two signers that start at once, one serves and the other says so`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("socket")
        @Sendable func start() -> Result<SignerSocket, SignerDefect> {
            Result { () throws(SignerDefect) in try SignerSocket.listen(at: path) }
        }
        // From the second round on, there is a dead signer's socket.
        for _ in 0..<100 {
            async let one = start()
            async let other = start()
            let refusals = await [one, other].compactMap { result -> SignerDefect? in
                if case .failure(let defect) = result { defect } else { nil }
            }
            #expect(refusals == [.socket(path: path, reason: "another signer serves it")])
        }
    }

    @Test func `it makes and destroys no keys for a broker`() async throws {
        let signer = try TestSigner.started()
        let user = signer.provider().user
        let record = KeyRecord.of(try await signer.maker.generateRefreshTokenKey(id: 1), .refreshToken)
        #expect(throws: KeyError.signer(.readOnly)) { try user.generateSigningKey(.es256, modulusBits: 0) }
        #expect(throws: KeyError.signer(.readOnly)) { try user.generateRefreshTokenKey(id: 2) }
        #expect(throws: KeyError.signer(.readOnly)) { try user.generateDeviceKey() }
        #expect(throws: KeyError.signer(.readOnly)) { try user.destroy(record) }
    }
}
