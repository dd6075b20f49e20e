import BrokerHarness
import BrokerTesting
import Foundation
import JOSE
import PrivateCluster
import Testing

/// A refresh is committed, its answer is lost, and then no broker can answer for longer than the grace period as shipped.
@Suite(.serialized, .timeLimit(.minutes(20)))
struct ServiceGapTests {
    /// In seconds; `deploy/verify` also tries ten minutes.
    private static let outages =
        ProcessInfo.processInfo.environment["OUTAGES"]?.split(separator: " ").compactMap { Int($0) } ?? [14, 60]

    /// An app that has not got its last answer.
    private struct App {
        let refreshToken: String
        /// With the key that its grant is bound to.
        let key: TestKey?
        let successor: String
    }

    private struct Site {
        let cluster: PrivateCluster
        let installation: Installation
        let logins: LoginFactory
        let brokers: [Broker]

        init() async throws {
            let key = try TestKey(.es256, keyID: "idp")
            cluster = try await PrivateCluster.start(options: .testing)
            (installation, logins) = try await Installation.ofTwoApps(
                .init("https://idp.example.test", keys: .file([key])), key, on: cluster)
            try await installation.session().rows("UPDATE native_sso.client SET dpop = 'optional'")
            brokers = [
                try await installation.startBroker("one").ready(), try await installation.startBroker("two").ready(),
            ]
        }

        func send(_ form: TokenForm, with key: TestKey?, to broker: Broker) async throws -> HTTPAnswer {
            let proof = try key.map {
                try TestProof(
                    by: $0, for: "https://sso.example.test/token", at: Int64(Date().timeIntervalSince1970)
                ).signed()
            }
            return try await HTTPRequest.token(form.parameters, fields: proof.map { [("DPoP", $0)] } ?? [])
                .send(to: broker.publicPort)
        }

        func refresh(_ token: String, with key: TestKey?, at broker: Broker) async throws -> HTTPAnswer {
            try await send(logins.refresh(token), with: key, to: broker)
        }

        func app(with key: TestKey?, at broker: Broker) async throws -> App {
            let exchanged = try await send(logins.exchange(logins.login()), with: key, to: broker)
            let token = try #require(exchanged.refreshToken, "\(exchanged.text)")
            let lost = try await refresh(token, with: key, at: broker)
            return App(refreshToken: token, key: key, successor: try #require(lost.refreshToken, "\(lost.text)"))
        }

        var gaps: Int {
            get async throws {
                Int(try await installation.session().row("SELECT count(*) FROM native_sso.service_gap")) ?? -1
            }
        }
    }

    @Test(arguments: outages) func `a lost answer outlives an outage`(seconds: Int) async throws {
        let site = try await Site()
        let brokers = site.brokers
        // Brokers that restart one by one leave no gap.
        for broker in brokers {
            broker.process.signal(SIGTERM)
            _ = await broker.process.exitStatus
            try broker.restart()
            try await broker.untilReady()
        }
        #expect(try await site.gaps == 0)
        var apps: [App] = []
        for key in [nil, try TestKey(.es256, keyID: "app")] {
            for broker in brokers { apps.append(try await site.app(with: key, at: broker)) }
        }

        let end = ContinuousClock.now + .seconds(seconds)
        try await site.cluster.kill9()
        var answers = 0
        while ContinuousClock.now < end {
            for (place, app) in apps.enumerated() {
                let answer = try await site.refresh(app.refreshToken, with: app.key, at: brokers[place % 2])
                #expect(answer.isOutage, "\(answer.status) \(answer.text)")
                answers += 1
            }
            try await Task.sleep(for: .milliseconds(500))
        }
        #expect(answers >= apps.count)
        if seconds > 30 {
            brokers[0].process.signal(SIGKILL)
            _ = await brokers[0].process.exitStatus
            try brokers[0].restart()
        }
        try await site.cluster.restart()

        // At the other broker than before.
        for (place, app) in apps.enumerated() {
            let broker = brokers[(place + 1) % 2]
            let answer = try await eventually("an answer that is no outage") {
                // It may be starting.
                let answer = try? await site.refresh(app.refreshToken, with: app.key, at: broker)
                return answer?.isOutage == true ? nil : answer
            }
            #expect(answer.status == 200, "\(place): \(answer.text)")
            // The one that was lost, and no further one.
            #expect(answer.refreshToken == app.successor)
        }
        #expect(try await site.gaps >= 1)
        // What was presented twice, with its successor between, is found all the same.
        for app in apps {
            #expect(try await site.refresh(app.successor, with: app.key, at: brokers[0]).status == 200)
            let replay = try await site.refresh(app.refreshToken, with: app.key, at: brokers[1])
            #expect(replay.status == 400 && replay.error == "invalid_grant", "\(replay.text)")
            let sql = try site.installation.session()
            #expect(try await sql.auditedReason(of: replay.requestID) == "refresh_token_reused")
        }
        for broker in brokers { try await broker.stop() }
        try await site.cluster.stop()
    }
}
