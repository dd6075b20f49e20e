import BrokerTesting
import Foundation
import JOSE
import StrictCoding
import Testing

@testable import native_sso_bench

struct WorkloadTests {
    private static func logins(_ count: Int) async throws -> SignedLogins {
        try await SignedLogins.make(
            (0..<count).map(Population.login), key: try TestKey.shared(.es256), at: 1_700_000_000)
    }

    private func text(of request: (UnsafeMutableRawBufferPointer) -> Int?) -> String? {
        var buffer = [UInt8](repeating: 0, count: 8192)
        return buffer.withUnsafeMutableBytes { buffer in
            request(buffer).map { String(decoding: buffer[..<$0], as: UTF8.self) }
        }
    }

    /// The body of a request that says how long it is.
    private func form(_ request: String) throws -> String {
        let parts = request.split(separator: "\r\n\r\n", maxSplits: 1)
        #expect(parts.count == 2)
        #expect(parts[0].contains("Content-Length: \(parts[1].utf8.count)"))
        return String(parts[1])
    }

    @Test func exchangesGoFromAppToAppAndForEachFromLoginToLogin() async throws {
        var exchanges = Exchanges(try await Self.logins(2), apps: ["app-00", "app-01"], range: 1..<10)
        var seen: [String] = []
        while let request = text(of: { exchanges.next(on: 0, into: $0) }) {
            let form = try form(request)
            let app = try #require(form.split(separator: "&").first { $0.hasPrefix("client_id=") })
            let device = try #require(form.split(separator: "&").first { $0.hasPrefix("actor_token=") })
            seen.append("\(app.dropFirst(10)) \(device.suffix(1))")
        }
        #expect(seen == ["app-00 1", "app-01 0", "app-01 1"])
        #expect(exchanges.position == 4)
        // One app alone goes round and round.
        var alone = Exchanges(try await Self.logins(2), apps: ["app-00"], range: 0..<5)
        var count = 0
        while text(of: { alone.next(on: 0, into: $0) }) != nil { count += 1 }
        #expect(count == 5)
    }

    @Test(arguments: ["ES256", "ES256:", "ES256:none", "ES256:RS256:ES256", ""])
    func whatIsNoPairOfAlgorithmsIsRefused(_ text: String) { #expect(Algorithms(argument: text) == nil) }

    /// A finding is made again by its seed.
    @Test func theSameSeedMakesTheSameRacesAndBendsInTheSameWay() {
        func races(seed: UInt64) -> [String] {
            (0..<20).map { "\(RaceWorld(number: $0, seed: seed).actors.map(\.transactions))" }
        }
        func texts(seed: UInt64) -> [[UInt8]] {
            var random = SeededRandom(seed: seed)
            return (0..<50).map { _ in JSONMutation.text(of: JSONObject(["sub": .string("a")]), &random) }
        }
        #expect(races(seed: 1) == races(seed: 1) && races(seed: 1) != races(seed: 2))
        #expect(texts(seed: 1) == texts(seed: 1) && texts(seed: 1) != texts(seed: 2))
    }

    @Test func theNextQuestionOfAFamilyIsItsLastAnswer() throws {
        let families = TokenFamilies(count: 3)
        func answer(_ token: String, _ take: (UnsafeRawBufferPointer) -> Void) {
            Array(#"{"refresh_token":"\#(token)"}"#.utf8).withUnsafeBytes(take)
        }
        answer("nsr1.a0") { families.take($0, for: 0) }
        answer("nsr1.c0") { families.take($0, for: 2) }
        var refreshes = Refreshes(families, app: "app-00")
        var asked: [String] = []
        for (connection, next) in [(7, "nsr1.a1"), (8, "nsr1.c1"), (7, "nsr1.a2")] {
            let form = try form(try #require(text(of: { refreshes.next(on: connection, into: $0) })))
            asked.append(String(form.suffix(7)))
            answer(next) { refreshes.answered($0, on: connection) }
        }
        // The grant without a token is skipped.
        #expect(asked == ["nsr1.a0", "nsr1.c0", "nsr1.a1"])
        #expect(families[0].map { String(decoding: $0, as: UTF8.self) } == "nsr1.a2")
    }

    @Test func aTokenOfAnotherLengthEndsItsFamily() {
        let families = TokenFamilies(count: 2)
        for (login, token) in [(0, "nsr1.a0"), (1, "nsr1.b0"), (1, "nsr1.longer")] {
            Array(#"{"refresh_token":"\#(token)"}"#.utf8).withUnsafeBytes { families.take($0, for: login) }
        }
        #expect(families[0] != nil)
        #expect(families[1] == nil)
    }
}
