import AsyncHTTPClient
import BrokerTesting
import Foundation
import JOSE
import NIOCore
import NIOHTTP1
import NativeSSO
import StrictCoding
import Testing

/// A `native-sso serve` of its own.
struct Broker: Sendable {
    let program: RunningProgram
    let publicPort: Int
    let internalPort: Int

    struct Answer: Sendable {
        let status: UInt
        let body: [UInt8]
        /// `X-Request-Id`
        let requestID: String
        var text: String { String(decoding: body, as: UTF8.self) }
        var object: JSONObject? { try? JSONReader.parse(body).object }
    }

    /// Starts it and waits until both listeners are bound.
    static func start(_ installation: Installation, environment: [String: String] = [:]) async throws -> Broker {
        let program = try RunningProgram(
            ["serve", "--config", installation.file("native-sso.yaml")],
            environment: installation.serviceEnvironment.merging(environment) { $1 })
        let line = await program.errorLine(containing: #""listening""#)
        let event = try #require(
            line.flatMap { try? JSONReader.parse(Array($0.utf8)).object }, "\(program.errors)")
        return Broker(
            program: program, publicPort: Int(try #require(event.number("public")?.int64)),
            internalPort: Int(try #require(event.number("internal")?.int64)))
    }

    func get(_ path: String) async throws -> Answer {
        try await send(HTTPClientRequest(url: "http://127.0.0.1:\(internalPort)\(path)"))
    }

    func post(_ form: [(String, String)], header: (name: String, value: String)? = nil) async throws -> Answer {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(publicPort)/token")
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/x-www-form-urlencoded")
        if let header { request.headers.add(name: header.name, value: header.value) }
        request.body = .bytes(
            ByteBuffer(string: form.map { "\(Self.escape($0))=\(Self.escape($1))" }.joined(separator: "&")))
        return try await send(request)
    }

    private static func escape(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    private func send(_ request: HTTPClientRequest) async throws -> Answer {
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(20))
        let body = try await response.body.collect(upTo: 1 << 20)
        return Answer(
            status: response.status.code, body: Array(body.readableBytesView),
            requestID: response.headers.first(name: "x-request-id") ?? "")
    }

    /// Asks `/readyz` again and again, as a load balancer does, until it answers so.
    func waitUntilReady(_ isReady: Bool = true) async throws {
        try await wait { (try await $0.get("/readyz").status == 200) == isReady }
    }

    /// Asks again and again until it is so.
    func wait(
        sourceLocation: SourceLocation = #_sourceLocation, until isSo: (Broker) async throws -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while !(try await isSo(self)) {
            try #require(ContinuousClock.now < deadline, "\(program.errors)", sourceLocation: sourceLocation)
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}
