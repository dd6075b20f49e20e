import StrictCoding
import BrokerHarness
import Testing

extension Abuse {
    /// `native-sso explain` has words for every audited attack, and none of them comes from a request.
    struct ExplanationTests {
        /// One attack for each reason that the table audits.
        private static let attacks: [(reason: String, variant: Attack.Variant)] = {
            var seen = Set<String>()
            return Attack.all.flatMap(\.variants).compactMap { variant in
                guard case .refused(_, _, let reason) = variant.verdict, variant.verdict.isAudited,
                    seen.insert(reason).inserted
                else { return nil }
                return (reason, variant)
            }
        }()

        @Test func `every audited reason has its sentence`() async throws {
            let fixture = try await Fixture.shared
            #expect(Self.attacks.count > 80)
            for (reason, variant) in Self.attacks {
                let octets = try await variant.message(fixture).octets
                var secrets = SecretSearch()
                secrets.addCredentials(of: octets, variant.name)
                let connection = try await HTTPConnection.open(port: fixture.running.publicPort)
                try await connection.send(octets)
                let answer = try #require(try await connection.receive(hasNoBody: false), "\(variant.name)")
                let requestID = try #require(answer["X-Request-Id"], "\(variant.name)")
                #expect(try await fixture.sql.auditedReason(of: requestID) == reason)
                let run = try await fixture.installation.run(["explain", requestID, "--json"])
                #expect(run.status == 0, "\(reason): \(run.errors)")
                let output = run.output
                let events = try JSONReader.parse(Array(output.utf8)).object?.array("events") ?? []
                let event = events.compactMap(\.object).first { $0.string("kind")?.hasSuffix("_refused") == true }
                #expect(event?.string("reason") == reason)
                let sentence = event?.string("sentence") ?? ""
                #expect(sentence.hasSuffix("(\(reason))."), "\(sentence)")
                #expect(event?.string("remedy")?.isEmpty == false, "\(reason)")
                if let client = event?.string("client_id") {
                    #expect(sentence.contains("App \(client) "), "\(sentence)")
                }
                #expect(secrets.findings(in: output).isEmpty, "\(reason)")
            }
        }
    }
}
