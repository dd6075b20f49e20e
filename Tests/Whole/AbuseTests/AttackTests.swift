import BrokerHarness
import BrokerTesting
import Foundation
import PrivateCluster
import StrictCoding
import Testing

/// The abuse catalogue over real HTTP/1.1, HTTP/2 and TLS.
/// Serialized: all tests share three brokers and compare digests of the database before and after.
@Suite(.serialized, .timeLimit(.minutes(5))) struct Abuse {}

extension Abuse {
    struct AttackTests {
        @Test(arguments: Attack.all) func token(_ attack: Attack) async throws { try await run(attack) }

        /// Message, form and client are judged alike on the backchannel listener.
        @Test(arguments: Attack.ofEveryEndpoint, [Endpoint.revoke, .introspect])
        func backchannel(_ attack: Attack, _ endpoint: Endpoint) async throws { try await run(attack, at: endpoint) }

        @Test(arguments: Attack.ofTheWire, [Endpoint.securityEvents, .globalTokenRevocation])
        func events(_ attack: Attack, _ endpoint: Endpoint) async throws { try await run(attack, at: endpoint) }

        /// A table missing from the digest could change unnoticed.
        @Test func theDigestKnowsEveryTable() async throws {
            let fixture = try await Fixture.shared
            let tables = try await fixture.sql.rows(
                """
                SELECT table_name FROM information_schema.tables
                WHERE table_schema = 'native_sso' AND table_type = 'BASE TABLE' AND table_name NOT LIKE 'audit_event%'
                ORDER BY 1
                """)
            #expect(
                tables
                    == (Fixture.tables + ["broker_count", "idp_key", "service_count", "service_gap", "sweep"]).sorted())
        }

        /// An attempt, and its answer; `nil` if HTTP/2 has rightly ended the stream or the connection.
        private struct Outcome: Sendable {
            let attempt: Attempt
            let answer: HTTPAnswer?
        }

        /// Sends all that is refused between two looks at the registry, then all that is granted, and reads afterwards
        /// what brokers, audit and PostgreSQL have written about all of them.
        private func run(_ attack: Attack, at endpoint: Endpoint = .token) async throws {
            let fixture = try await Fixture.shared
            let traces = try Traces(fixture)
            let attempts = try await attempts(of: attack, at: endpoint, on: fixture)
            let refused = attempts.filter { $0.verdict.isRefusal }
            var outcomes: [Outcome] = []
            if !refused.isEmpty {
                let before = try await fixture.digest()
                outcomes = try await send(refused, to: endpoint, on: fixture)
                #expect(try await fixture.digest() == before, "\(attack.id): the registry changed")
            }
            outcomes += try await send(attempts.filter { !$0.verdict.isRefusal }, to: endpoint, on: fixture)
            #expect(fixture.trap.requests == 0, "an address in a request was asked")
            // The broker still serves a good request.
            let good = try await fixture.running.token(try fixture.exchange())
            #expect(good.status == 200, "\(good.text)")
            try await checkReasons(of: outcomes, and: good, traces, on: fixture)

            var secrets = SecretSearch()
            for attempt in attempts { secrets.addCredentials(of: attempt.message.octets, attempt.name) }
            for outcome in outcomes {
                if let answer = outcome.answer { secrets.addTokens(of: answer, outcome.attempt.name) }
            }
            let requestIDs = outcomes.compactMap(\.answer?.requestID) + [good.requestID]
            let written = try await traces.text(ofRequests: requestIDs, fixture)
            #expect(secrets.findings(in: written).isEmpty)
            // Proves that the search works: it finds the good request's id.
            #expect(written.contains(good.requestID))
        }

        /// Each variant over each transport that can express it.
        private func attempts(
            of attack: Attack, at endpoint: Endpoint, on fixture: Fixture
        ) async throws -> [Attempt] {
            var attempts: [Attempt] = []
            for variant in attack.variants {
                var message = endpoint.message(try await variant.message(fixture))
                var isSpent = false
                for transport in endpoint.transports(of: attack) where transport.admits(variant) {
                    // A refusal uses nothing up: the same message comes again over the next transport.
                    if isSpent { message = endpoint.message(try await variant.message(fixture)) }
                    let attempt = Attempt(attack, variant, transport, message)
                    isSpent = !attempt.verdict.isRefusal
                    attempts.append(attempt)
                }
            }
            return attempts
        }

        /// Sends four at a time, and checks the answers.
        private func send(
            _ attempts: [Attempt], to endpoint: Endpoint, on fixture: Fixture
        ) async throws -> [Outcome] {
            let lanes = try await atOnce(4) { lane in
                var outcomes: [Outcome] = []
                for index in stride(from: lane, to: attempts.count, by: 4) {
                    let attempt = attempts[index]
                    let answer = try await attempt.send(to: endpoint.port(of: attempt.transport, on: fixture))
                    if let answer { Self.check(answer, to: attempt, at: endpoint) }
                    outcomes.append(Outcome(attempt: attempt, answer: answer))
                }
                return outcomes
            }
            return lanes.flatMap { $0 }
        }

        private static func check(_ answer: HTTPAnswer, to attempt: Attempt, at endpoint: Endpoint) {
            let comment: Comment = "\(attempt.name): \(answer.text)"
            if answer.isUndecided {
                #expect(attempt.verdict.mayBeUndecided, comment)
                return
            }
            #expect(AnswerContract.fault(of: answer, isHead: attempt.isHead) == nil, comment)
            switch attempt.verdict {
            case .granted:
                #expect(answer.status == 200, comment)
                if let expected = endpoint.answer {
                    #expect(answer.text == expected, comment)
                } else {
                    #expect(answer.json?.string("token_type") == "Bearer", comment)
                }
            case .refused(let status, let error, _):
                #expect(answer.status == status, comment)
                #expect(attempt.isHead || answer.error == error, comment)
            }
        }

        /// Each request has one line in a log, with the reason of its refusal, and the audit has the same reason.
        private func checkReasons(
            of outcomes: [Outcome], and good: HTTPAnswer, _ traces: Traces, on fixture: Fixture
        ) async throws {
            let answered = outcomes.compactMap { outcome in
                outcome.answer.map { (outcome.attempt, $0.requestID, isUndecided: $0.isUndecided) }
            }
            let requestIDs = Set(answered.map(\.1) + [good.requestID])
            // The log has a line for each stream that was reset.
            let resets = outcomes.count { $0.answer == nil && $0.attempt.isMalformedInHTTP2 }
            let lines = try await eventually("every request is logged") { () -> [String: [Traces.Line]]? in
                let lines = try traces.lines()
                let ofResets = lines.count { $0.reason == "http_malformed" && !requestIDs.contains($0.requestID) }
                let known = Dictionary(grouping: lines, by: \.requestID)
                return requestIDs.isSubset(of: known.keys) && ofResets >= resets ? known : nil
            }
            let audited = try await fixture.auditedReasons(
                of: answered.filter { $0.0.verdict.isRefusal && $0.0.verdict.isAudited && !$0.isUndecided }.map(\.1))
            for (attempt, requestID, isUndecided) in answered {
                let written = lines[requestID] ?? []
                #expect(written.count == 1 || attempt.transport == .http2, attempt.comment)
                guard case .refused(_, _, let reason) = attempt.verdict else { continue }
                guard !isUndecided else {
                    #expect(written.first?.reason.contains("is not known yet") == true, attempt.comment)
                    continue
                }
                #expect(written.first?.reason == reason, attempt.comment)
                if attempt.verdict.isAudited { #expect(audited[requestID] == reason, attempt.comment) }
            }
        }
    }
}

/// What the brokers and PostgreSQL write after this value is made.
struct Traces {
    /// A line of a broker's log. Nothing is known of a request whose stream was reset but its reason.
    struct Line: Sendable {
        let requestID: String
        let reason: String
    }

    /// The brokers' logs, and then that of PostgreSQL.
    private let files: [(file: URL, start: UInt64)]

    init(_ fixture: Fixture) throws {
        let cluster = URL(filePath: fixture.installation.cluster.directory + "/log")
        files = try (fixture.brokers.map(\.log) + [cluster]).map { file in
            let handle = try FileHandle(forReadingFrom: file)
            defer { try? handle.close() }
            return (file, try handle.seekToEnd())
        }
    }

    private func logs() throws -> [String] {
        try files.map { file, start in
            let handle = try FileHandle(forReadingFrom: file)
            defer { try? handle.close() }
            try handle.seek(toOffset: start)
            return String(decoding: try handle.readToEnd() ?? Data(), as: UTF8.self)
        }
    }

    /// What the brokers have logged.
    func lines() throws -> [Line] {
        try logs().dropLast().flatMap { $0.utf8.split(separator: UInt8(ascii: "\n")) }.compactMap { line in
            // The last line may not be whole yet.
            guard let entry = (try? JSONReader.parse(Array(line)))?.object else { return nil }
            return Line(requestID: entry.string("request_id") ?? "", reason: entry.string("reason") ?? "")
        }
    }

    /// The logs since then, and what the audit has of these requests.
    func text(ofRequests requestIDs: [String], _ fixture: Fixture) async throws -> String {
        let ids = requestIDs.map { "'\($0)'" }.joined(separator: ",")
        let rows = try await fixture.sql.rows(
            "SELECT a::text FROM native_sso.audit_event a WHERE request_id IN (\(ids))")
        return (try logs() + rows).joined(separator: "\n")
    }
}
