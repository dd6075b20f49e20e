import Foundation
import PrivateCluster
import StrictCoding
import BrokerHarness
import Testing

/// The abuse catalogue over real HTTP/1.1, HTTP/2 and TLS.
/// Serialized: all tests share two brokers and compare a digest of the database before and after.
@Suite(.serialized, .timeLimit(.minutes(5))) struct Abuse {}

extension Abuse {
    struct AttackTests {
        @Test(arguments: Attack.httpAttacks) func http(_ attack: Attack) async throws { try await run(attack) }
        @Test(arguments: Attack.framingAttacks) func framing(_ attack: Attack) async throws { try await run(attack) }
        @Test(arguments: Attack.formAttacks) func form(_ attack: Attack) async throws { try await run(attack) }
        @Test(arguments: Attack.sizeAttacks) func size(_ attack: Attack) async throws { try await run(attack) }
        @Test(arguments: Attack.clientAttacks) func client(_ attack: Attack) async throws { try await run(attack) }
        @Test(arguments: Attack.assertionAttacks) func assertion(_ attack: Attack) async throws {
            try await run(attack)
        }
        @Test(arguments: Attack.headerAttacks) func header(_ attack: Attack) async throws { try await run(attack) }
        @Test(arguments: Attack.textAttacks) func text(_ attack: Attack) async throws { try await run(attack) }
        @Test(arguments: Attack.claimAttacks) func claims(_ attack: Attack) async throws { try await run(attack) }
        @Test(arguments: Attack.deviceAttacks) func device(_ attack: Attack) async throws { try await run(attack) }
        @Test(arguments: Attack.scopeAttacks) func scope(_ attack: Attack) async throws { try await run(attack) }
        @Test(arguments: Attack.targetAttacks) func target(_ attack: Attack) async throws { try await run(attack) }
        @Test(arguments: Attack.refreshAttacks) func refresh(_ attack: Attack) async throws { try await run(attack) }
        @Test(arguments: Attack.proofAttacks) func proof(_ attack: Attack) async throws { try await run(attack) }
        @Test(arguments: Attack.enrolmentAttacks) func enrolment(_ attack: Attack) async throws {
            try await run(attack)
        }

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
            #expect(tables == (Fixture.tables + ["broker_count", "idp_key", "sweep"]).sorted())
        }

        /// Sends each variant in clear, over TLS, and over TLS in HTTP/2.
        private func run(_ attack: Attack, at endpoint: Endpoint = .token) async throws {
            let fixture = try await Fixture.shared
            let traces = try Traces(fixture)
            var secrets = SecretSearch()
            var requestIDs: [String] = []
            for variant in attack.variants {
                for transport in endpoint.transports where transport.admits(variant) {
                    let message = endpoint.message(try await variant.message(fixture))
                    secrets.addCredentials(of: message.octets, variant.name)
                    let before = try await fixture.digest()
                    let comment: Comment = "\(attack.id) \(variant.name), \(transport)"
                    if let answer = try await transport.send(
                        message, variant.inHTTP2, to: endpoint, on: fixture, comment)
                    {
                        secrets.addTokens(of: answer, variant.name)
                        requestIDs += answer.values(of: "X-Request-Id")
                        let isHead = message.octets.starts(with: Array("HEAD ".utf8))
                        try await check(
                            answer, transport.verdict(of: variant), at: endpoint, isHead: isHead, on: fixture, comment)
                    }
                    if case .refused = transport.verdict(of: variant) {
                        #expect(try await fixture.digest() == before, "\(comment): the registry changed")
                    }
                }
            }
            #expect(fixture.trap.requests == 0, "an address in a request was asked")
            // The broker still serves a good request. Its line is the last one in the log.
            let good = try await fixture.running.token(try fixture.exchange())
            #expect(good.status == 200, "\(good.text)")
            requestIDs += good.values(of: "X-Request-Id")
            _ = try await fixture.loggedReason(of: requestIDs.last ?? "")
            let written = try await traces.text(ofRequests: requestIDs, fixture)
            #expect(secrets.findings(in: written).isEmpty)
            // Proves that the search works: it finds the good request's id.
            #expect(written.contains(requestIDs.last ?? "-"))
        }

        private func check(
            _ answer: HTTPAnswer, _ verdict: Verdict, at endpoint: Endpoint, isHead: Bool, on fixture: Fixture,
            _ name: Comment
        ) async throws {
            let comment: Comment = "\(name): \(answer.text)"
            let fault = AnswerContract.fault(of: answer, isHead: isHead)
            #expect(fault == nil, comment)
            let requestID = try #require(answer["X-Request-Id"], comment)
            switch verdict {
            case .granted:
                #expect(answer.status == 200, comment)
                if let expected = endpoint.answer {
                    #expect(answer.text == expected, comment)
                } else {
                    #expect(answer.json?.string("token_type") == "Bearer", comment)
                }
            case .refused(let status, let error, let reason):
                #expect(answer.status == status, comment)
                #expect(isHead || answer.error == error, comment)
                let found =
                    verdict.isAudited
                    ? try await fixture.sql.auditedReason(of: requestID) : try await fixture.loggedReason(of: requestID)
                #expect(found == reason, comment)
            }
        }
    }
}

/// What the broker and PostgreSQL write after this value is made.
struct Traces {
    private let files: [(file: URL, start: UInt64)]

    init(_ fixture: Fixture) throws {
        files = try [
            fixture.running.log, fixture.secured.log, URL(filePath: fixture.installation.cluster.directory + "/log"),
        ].map { file in
            let handle = try FileHandle(forReadingFrom: file)
            defer { try? handle.close() }
            return (file, try handle.seekToEnd())
        }
    }

    /// The logs since then, and what the audit has of these requests.
    func text(ofRequests requestIDs: [String], _ fixture: Fixture) async throws -> String {
        let logs = try files.map { file, start in
            let handle = try FileHandle(forReadingFrom: file)
            defer { try? handle.close() }
            try handle.seek(toOffset: start)
            return String(decoding: try handle.readToEnd() ?? Data(), as: UTF8.self)
        }
        let ids = requestIDs.map { "'\($0)'" }.joined(separator: ",")
        let rows = try await fixture.sql.rows(
            "SELECT a::text FROM native_sso.audit_event a WHERE request_id IN (\(ids))")
        return (logs + rows).joined(separator: "\n")
    }
}
