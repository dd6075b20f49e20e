import BrokerHarness
import BrokerTesting
import Foundation
import JOSE
import PrivateCluster
import StrictCoding
import Synchronization
import Testing

/// mitmproxy, between apps and the broker, loses every third answer. An app sends the same request again, and nothing else.
@Suite(.timeLimit(.minutes(5)), .needs(.mitmproxy))
struct LosingProxyTests {
    private static let users = 24
    private static let refreshes = 12

    @Test func noHonestUserIsLoggedOut() async throws {
        let (installation, logins) = try await Installation.ofTwoApps()
        let broker = try await installation.startBroker().ready()
        let proxy = try await LosingProxy(to: broker.publicPort)

        let held = try await atOnce(Self.users) { number in
            let profile = NativeProfile.allCases[number % NativeProfile.allCases.count]
            return try await Self.use(logins, profile, through: proxy)
        }

        // Every request took one answer that arrived. Of three answers, one was lost.
        let arrived = Self.users * (1 + Self.refreshes)
        let lost = proxy.lost.withLock { $0 }
        #expect(lost >= arrived / 2 - 1 && lost <= arrived / 2 + 1, "\(lost) of \(arrived)")
        let sql = try installation.session()
        #expect(try await sql.row("SELECT count(*) FROM native_sso.sso_grant WHERE revoked_at IS NOT NULL") == "0")
        #expect(try await sql.row("SELECT count(*) FROM native_sso.session WHERE ended_at IS NOT NULL") == "0")
        for token in held {
            let answer = try await broker.token(logins.refresh(token))
            #expect(answer.status == 200, "\(answer.text)")
        }
        #expect(await broker.process.terminate() == 0)
    }

    /// One user's app: it exchanges and refreshes. Its newest refresh token.
    private static func use(
        _ logins: LoginFactory, _ profile: NativeProfile, through proxy: LosingProxy
    ) async throws -> String {
        var form = try logins.exchange(logins.login(), profile)
        var token = ""
        for _ in 0...refreshes {
            let answer = try await proxy.answer(to: form)
            try #require(answer.status == 200, "\(answer.text)")
            token = try #require(answer.refreshToken)
            form = logins.refresh(token)
        }
        return token
    }
}

/// mitmdump with the addon of the tests, in front of one broker.
private final class LosingProxy: Sendable {
    let lost = Mutex(0)
    private let port: UInt16
    private let process: ManagedProcess

    init(to broker: UInt16) async throws {
        port = try LoopbackPort.free()
        let directory = URL(filePath: try WorkingDirectory(named: "mitmproxy").path)
        process = try ManagedProcess(
            try Software.mitmproxy.path("bin/mitmdump"),
            [
                "--quiet", "--mode", "reverse:http://127.0.0.1:\(broker)", "--listen-host", "127.0.0.1",
                "--listen-port", "\(port)", "--scripts",
                Software.scripts.appending(path: "lose_answers.py").path,
            ],
            environment: ["HOME": directory.path, "PYTHONDONTWRITEBYTECODE": "1"],
            log: directory.appending(path: "log"))
        _ = try await eventually("mitmproxy listens") { [port, process] in
            guard process.isRunning else { throw await process.ended(because: "has ended") }
            return try? await HTTPConnection.open(port: port)
        }
    }

    deinit { process.kill() }

    /// Sends the request until an answer arrives.
    func answer(to form: TokenForm) async throws -> HTTPAnswer {
        while true {
            do {
                return try await HTTPRequest.token(form.parameters).send(to: port)
            } catch HTTPFailure.cutOff {
                lost.withLock { $0 += 1 }
            }
        }
    }
}
