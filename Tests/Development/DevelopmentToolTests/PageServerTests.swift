import BrokerHarness
import Foundation
import StrictCoding
import Testing

@testable import native_sso_dev

/// The page with the two phones, without a browser.
@Suite(.serialized, .timeLimit(.minutes(5))) struct PageServerTests {
    private static let starting = Task { try await DevelopmentRun() }

    private static func port() async throws -> UInt16 { try await starting.value.port("page") }

    private static func send(_ request: HTTPRequest) async throws -> HTTPAnswer {
        var request = request
        let port = try await port()
        if request.host == "127.0.0.1" { request.host = "127.0.0.1:\(port)" }
        return try await request.send(to: port)
    }

    private static func press(_ name: String) async throws -> HTTPAnswer {
        let own = "http://127.0.0.1:\(try await port())"
        return try await send(
            HTTPRequest(
                "POST", "/press", fields: [("Origin", own), ("Content-Type", "application/json")],
                body: Array("{\"press\":\"\(name)\",\"app\":\"app-one\"}".utf8)))
    }

    @Test func nothingIsInlineAndNothingComesFromElsewhere() async throws {
        for path in ["/", "/page.css", "/page.js", "/state"] {
            let answer = try await Self.send(HTTPRequest("GET", path))
            #expect(answer.status == 200)
            let policy = try #require(answer["Content-Security-Policy"])
            #expect(policy.contains("default-src 'none'") && !policy.contains("unsafe"))
            #expect(answer["X-Content-Type-Options"] == "nosniff" && answer["Cache-Control"] == "no-store")
        }
        let page = try await Self.send(HTTPRequest("GET", "/")).text
        #expect(!page.contains("<style") && !page.contains("style=") && !page.contains("onclick"))
        #expect(page.count(of: "<script") == 1 && page.contains("<script src=\"/page.js\" defer></script>"))
        for name in [
            "log in", "open web app", "open app two", "call API", "kill app", "expire token", "lose the answer",
            "steal the keychain", "sign out", "end session as operator",
        ] {
            #expect(page.contains("data-press=\"\(name)\""), "\(name)")
        }
        for step in 0...10 { #expect(page.contains("id=\"step-\(step)\"")) }
    }

    @Test func anotherNameOfThisMachineIsRefused() async throws {
        for host in ["evil.example", "evil.example:80", "localhost", "127.0.0.1", "127.0.0.1:1", ""] {
            for path in ["/", "/state", "/callback/app-one?code=x&state=y"] {
                var request = HTTPRequest("GET", path)
                request.host = host
                let answer = try await request.send(to: try await Self.port())
                #expect(answer.status == 421 && answer.body.isEmpty, "\(host) \(path) \(answer.status)")
            }
        }
    }

    /// A press is JSON with the page's own origin.
    @Test func aPressOfAnotherPageIsRefused() async throws {
        let own = "http://127.0.0.1:\(try await Self.port())"
        let press = #"{"press":"log in","app":"app-one"}"#
        func refused(
            _ status: Int, _ reason: String, origin: String?, type: String = "application/json", _ body: String
        ) async throws {
            var fields = [(name: "Content-Type", value: type)]
            if let origin { fields.append((name: "Origin", value: origin)) }
            let answer = try await Self.send(HTTPRequest("POST", "/press", fields: fields, body: Array(body.utf8)))
            #expect(answer.status == status, "\(origin ?? "-") \(type) \(body.prefix(20)): \(answer.status)")
            #expect(answer.json?.string("refused") == reason, "\(answer.text)")
        }
        for origin in [
            nil, "http://evil.example", "null", "http://127.0.0.1", "http://localhost:9004", "https://127.0.0.1:9004",
        ] { try await refused(403, "This page's own buttons only.", origin: origin, press) }
        for type in ["text/plain", "application/x-www-form-urlencoded"] {
            try await refused(415, "A press is JSON.", origin: own, type: type, press)
        }
        for body in ["", "[]", "{}", #"{"press":1}"#, String(repeating: " ", count: 5000)] {
            try await refused(400, "The press cannot be read.", origin: own, body)
        }
    }

    @Test func aButtonBeforeTheLoginSaysWhatToDo() async throws {
        for name in [
            "open web app", "open app two", "call API", "steal the keychain", "sign out", "end session as operator",
        ] {
            let answer = try await Self.press(name)
            #expect(answer.status == 200 && answer.json?.bool("failed") == true, "\(name): \(answer.text)")
            let summary = try #require(answer.json?.string("summary"))
            #expect(summary.contains("log in") || summary.contains("No user is logged in") || summary.contains("empty"))
        }
        #expect(try await Self.press("no such button").json?.bool("failed") == true)
    }

    @Test func anUnexpectedCallbackChangesNothing() async throws {
        let before = try await Self.send(HTTPRequest("GET", "/state")).json?.strings("keychain")
        for path in ["/callback/app-one?code=x&state=y", "/signed-out?state=x", "/signed-out"] {
            #expect(try await Self.send(HTTPRequest("GET", path)).status == 303)
        }
        #expect(try await Self.send(HTTPRequest("GET", "/state")).json?.strings("keychain") == before)
    }
}

extension String {
    fileprivate func count(of text: String) -> Int { ranges(of: text).count }
}
