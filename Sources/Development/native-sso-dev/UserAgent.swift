import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import OAuthWire

/// The system's browser: keeps cookies, follows redirects, fills in forms, and hands over to an app where an address has a
/// scheme of the app's.
actor UserAgent {
    /// Where a navigation ended.
    enum Outcome: Sendable {
        case page(Page)
        /// The address that an app gets.
        case app(String)
    }

    struct Page: Sendable {
        let address: String
        let status: Int
        let html: String
    }

    /// One request, for those who watch.
    struct Visit: Sendable {
        let method: String
        let address: String
        let status: Int
        let location: String?
    }

    private var cookies = CookieJar()
    private let watch: @Sendable (Visit) -> Void

    init(watch: @escaping @Sendable (Visit) -> Void = { _ in }) {
        self.watch = watch
    }

    func open(_ address: String) async throws -> Outcome {
        try await navigate("GET", address, form: nil)
    }

    /// Sends the form of `page` with these fields filled in.
    func submit(_ page: Page, _ values: KeyValuePairs<String, String>) async throws -> Outcome {
        guard var form = HTMLForm(page.html) else { throw UserAgentError.noForm(page.address) }
        for (name, value) in values {
            guard form.fill(name, value) else { throw UserAgentError.noField(name, page.address) }
        }
        guard let target = URL(string: form.action, relativeTo: URL(string: page.address))?.absoluteString else {
            throw UserAgentError.unusableAddress(form.action)
        }
        let encoded = FormEncoder.encode(form.fields)
        guard form.method == "post" else {
            return try await navigate("GET", target + "?" + String(decoding: encoded, as: UTF8.self), form: nil)
        }
        return try await navigate("POST", target, form: encoded)
    }

    private func navigate(_ method: String, _ address: String, form: [UInt8]?) async throws -> Outcome {
        var (method, address, form) = (method, address, form)
        for _ in 0..<10 {
            guard address.hasPrefix("http://") else { return .app(address) }
            let (status, location, html) = try await load(method, address, form: form)
            watch(Visit(method: method, address: address, status: status, location: location))
            guard (301...303).contains(status), let location else {
                return .page(Page(address: address, status: status, html: html))
            }
            guard let next = URL(string: location, relativeTo: URL(string: address))?.absoluteString else {
                throw UserAgentError.unusableAddress(location)
            }
            (method, address, form) = ("GET", next, nil)
        }
        throw UserAgentError.tooManyRedirects
    }

    private func load(
        _ method: String, _ address: String, form: [UInt8]?
    ) async throws -> (status: Int, location: String?, html: String) {
        guard let url = URL(string: address), let host = url.host else {
            throw UserAgentError.unusableAddress(address)
        }
        let origin = "\(host):\(url.port ?? 80)"
        var request = HTTPClientRequest(url: address)
        request.method = HTTPMethod(rawValue: method)
        if let cookies = cookies.header(for: origin) { request.headers.add(name: "cookie", value: cookies) }
        if let form {
            request.headers.add(name: "content-type", value: "application/x-www-form-urlencoded")
            request.body = .bytes(ByteBuffer(bytes: form))
        }
        let response = try await PlainHTTP.client.execute(request, timeout: .seconds(10))
        let body = try await response.body.collect(upTo: 1 << 20)
        cookies.store(response.headers["set-cookie"], from: origin)
        return (Int(response.status.code), response.headers.first(name: "location"), String(buffer: body))
    }
}

enum UserAgentError: Error, CustomStringConvertible {
    case noForm(String)
    case noField(String, String)
    case unusableAddress(String)
    case tooManyRedirects

    var description: String {
        switch self {
        case .noForm(let address): "the page at \(address) has no form"
        case .noField(let name, let address): "the form at \(address) has no field \(name)"
        case .unusableAddress(let address): "\(address) is no address"
        case .tooManyRedirects: "the browser was sent on ten times"
        }
    }
}

/// The HTTP client of apps and browser. It follows no redirect by itself: a token endpoint never sends one, and the browser
/// wants to see each.
enum PlainHTTP {
    static let client = HTTPClient(
        eventLoopGroup: HTTPClient.defaultEventLoopGroup,
        configuration: configuration)

    private static var configuration: HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        // Everything is on this machine, or not there.
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }
}

/// The cookies of one browser, by origin. RFC 6265 as far as loopback servers need it: no domains, no paths, no expiry but
/// `Max-Age=0`.
struct CookieJar {
    private var cookies: [String: [String: String]] = [:]

    /// Takes the values of `Set-Cookie` fields.
    mutating func store(_ fields: [String], from origin: String) {
        for field in fields {
            let parts = field.split(separator: ";").map { $0.drop { $0 == " " } }
            guard let pair = parts.first, let equals = pair.firstIndex(of: "=") else { continue }
            let isGone = parts.dropFirst().contains { $0.lowercased() == "max-age=0" }
            cookies[origin, default: [:]][String(pair[..<equals])] =
                isGone ? nil : String(pair[pair.index(after: equals)...])
        }
    }

    /// The value of a `Cookie` field, if there is anything to send.
    func header(for origin: String) -> String? {
        guard let cookies = cookies[origin], !cookies.isEmpty else { return nil }
        return cookies.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "; ")
    }
}
