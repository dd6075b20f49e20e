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
    private static let text = Result {
        try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent()
                .deletingLastPathComponent().appending(path: "Sources/Broker/BrokerHTTP/BrokerHTTP.docc/openapi.yaml"),
            encoding: .utf8)
    }

    @Test("Every error has an example under its status")
    func examples() throws {
        let text = try Self.text.get()
        let unavailable = HTTPAnswer(TokenError.outage(Outage(.database, "x")))
        let failed = HTTPAnswer(TokenError.broken("x"))
        let answers =
            RefusalTableTests.all.map { HTTPAnswer($0.answer) } + [unavailable, failed]
        for answer in answers {
            let body = try #require(try JSONReader.parse(answer.body).object)
            let (error, description) = (body.string("error") ?? "", body.string("error_description") ?? "")
            #expect(text.contains("error_description: \"\(description)\""), "\(description)")
            #expect(text.contains("            - \(error)\n"), "\(error)")
            #expect(text.contains("        \"\(answer.status.code)\": { $ref:"), "\(answer.status)")
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
