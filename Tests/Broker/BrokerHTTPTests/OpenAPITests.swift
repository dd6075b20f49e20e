@testable import BrokerHTTP
@testable import HTTPServer
import Foundation
import NIOHTTP1
import NativeSSO
import OAuthWire
import StrictCoding
import Testing

@Suite("The OpenAPI document")
struct OpenAPITests {
    private static let text = Result { try SourceTree.text("Sources/Broker/BrokerHTTP/BrokerHTTP.docc/openapi.yaml") }

    /// The text is taken apart once, not searched anew for each of some hundred refusals.
    @Test("Every error has an example under its status")
    func examples() throws {
        let text = try Self.text.get()
        let lines = Set(text.split(separator: "\n").map(String.init))
        let parts = text.components(separatedBy: "error_description: \"").dropFirst()
        let descriptions = Set(parts.map { part in String(part.prefix { $0 != "\"" }) })
        let outages = [
            HTTPAnswer(TokenError.outage(Outage(.database, "x"))), HTTPAnswer(TokenError.broken("x")),
            HTTPAnswer(TokenError.outage(Outage(.keyModule, "x", isUndecided: true))),
        ]
        var statuses: Set<UInt> = []
        for answer in RefusalTableTests.all.map({ HTTPAnswer($0.answer) }) + outages {
            let body = try #require(try JSONReader.parse(answer.body).object)
            let (error, description) = (body.string("error") ?? "", body.string("error_description") ?? "")
            #expect(descriptions.contains(description), "\(description)")
            #expect(lines.contains("            - \(error)"), "\(error)")
            statuses.insert(answer.status.code)
        }
        for status in statuses {
            #expect(lines.contains { $0.hasPrefix("        \"\(status)\": { $ref:") }, "\(status)")
        }
    }

    @Test("Grants, token types and limits match the endpoint")
    func vocabulary() throws {
        let text = try Self.text.get()
        let types: [TokenTypeURI] = [
            .accessToken, .idToken, .deviceID, .deviceSecretTransitional, .deviceSecret, .webHandoff,
        ]
        for name in [GrantType.tokenExchange.rawValue, ClientAssertionType.jwtBearer.rawValue] + types.map(\.rawValue) {
            #expect(text.contains("\"\(name)\""), "\(name)")
        }
        for length in [16 * 1024, 4096, 8192, 512, 255, 1024] {
            #expect(text.contains("maxLength: \(length)"))
        }
    }
}
