import AsyncHTTPClient
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NativeSSO
import StrictCoding

/// A request to a token endpoint. Prints as `****`.
struct TokenEndpointRequest: Sendable, Redacted {
    let body: [UInt8]
    let authorization: String?
}

/// Sends codes to token endpoints, each once: it does not reuse connections, retry, or follow redirects.
///
/// It does not trust the server: one deadline per request, a size limit, no decompression.
package final class TokenEndpointClient: Sendable {
    private let http: HTTPClient

    /// In octets. An error response may contain a long page of text.
    static let largest = 2 << 20

    /// Call ``shutdown()`` before releasing the last reference.
    ///
    /// - Parameter authorities: The CAs that may sign the server's certificate; `nil`: the system's CAs.
    package init(authorities: CertificateAuthorities? = nil) {
        var configuration = HTTPClient.Configuration.untrusting(authorities: authorities)
        // Well before the request's deadline: a code that was not sent stays usable.
        configuration.timeout.connect = .seconds(2)
        // Callers limit the concurrency, so requests must not wait for each other here.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 4096
        http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    package func shutdown() async throws { try await http.shutdown() }

    func post(
        _ request: TokenEndpointRequest, to url: ProviderURL, within timeout: Duration
    ) async throws(CodeRelayError) -> TokenEndpointAnswer {
        try await within(timeout, otherwise: .unanswered(.timedOut)) { await self.answer(request, url, timeout) }
    }

    private func answer(
        _ request: TokenEndpointRequest, _ url: ProviderURL, _ timeout: Duration
    ) async -> Result<TokenEndpointAnswer, CodeRelayError> {
        var outgoing = HTTPClientRequest(url: url.string)
        outgoing.method = .POST
        outgoing.headers.add(name: "content-type", value: "application/x-www-form-urlencoded")
        outgoing.headers.add(name: "accept", value: "application/json")
        outgoing.headers.add(name: "connection", value: "close")
        if let authorization = request.authorization {
            outgoing.headers.add(name: "authorization", value: authorization)
        }
        outgoing.body = .bytes(request.body)
        do {
            let response = try await http.execute(outgoing, deadline: .now() + TimeAmount(timeout))
            let status = Int(response.status.code)
            guard !(300..<400).contains(status) else { return .failure(.unusable(.redirected)) }
            let body = try await response.untrustedBody(atMost: Self.largest)
            return .success(
                TokenEndpointAnswer(status: status, contentType: response.headers["content-type"], body: body))
        } catch BodyDefect.encoded {
            return .failure(.unusable(.encoded))
        } catch BodyDefect.tooLarge {
            return .failure(.unusable(.tooLarge))
        } catch {
            return .failure(Self.failure(error))
        }
    }

    /// Whether the server may have received the request: that requires a connection and a completed TLS handshake. In
    /// doubt, the request counts as sent.
    private static func failure(_ error: any Error) -> CodeRelayError {
        switch error {
        case is NIOConnectionError, is NIOSSLExtraError: .notAsked(.unreachable)
        // For a literal address. An established connection never fails with this error.
        case let error as IOError where error.errnoCode == ECONNREFUSED: .notAsked(.unreachable)
        case NIOSSLError.handshakeFailed: .notAsked(.unreachable)
        case let error as HTTPClientError where [.connectTimeout, .tlsHandshakeTimeout].contains(error):
            .notAsked(.unreachable)
        case let error as HTTPClientError where [.deadlineExceeded, .readTimeout].contains(error):
            .unanswered(.timedOut)
        default: .unanswered(.cutOff)
        }
    }
}

/// A token endpoint's response, unparsed. RFC 6749 §5.
struct TokenEndpointAnswer: Sendable {
    let status: Int
    /// Every `Content-Type` field.
    let contentType: [String]
    let body: [UInt8]

    private static let longestToken = 16 << 10
    private static let longestScope = 4096

    /// The tokens of a successful response; throws for any other.
    func tokens() throws(CodeRelayError) -> ProviderTokens {
        switch status {
        case 200: break
        case 400, 401, 403: throw try refusal()
        case 429, 500...599: throw .unanswered(.unavailable)
        default: throw .unusable(.status)
        }
        let json = try object()
        do throws(AnswerFault) {
            return try tokens(json)
        } catch {
            let orphan = json.string("refresh_token")
            throw .unusable(error, orphan: orphan.map(Self.isToken) == true ? orphan : nil)
        }
    }

    private func tokens(_ json: JSONObject) throws(AnswerFault) -> ProviderTokens {
        guard let accessToken = json.string("access_token"), Self.isToken(accessToken),
            json.string("token_type")?.lowercased().hasSameOctets(as: "bearer") == true
        else { throw .malformed }
        guard json.contains("id_token") else { throw .noIDToken }
        guard let idToken = json.string("id_token"), Self.isToken(idToken) else { throw .malformed }
        return ProviderTokens(
            accessToken: accessToken, expiresIn: try lifetime(json),
            refreshToken: try text("refresh_token", of: json, Self.isToken),
            scope: try text("scope", of: json, Self.isScope), idToken: idToken,
            deviceSecret: try text("device_secret", of: json, Self.isToken))
    }

    /// Maps the error to a closed set; ignores all other members.
    private func refusal() throws(CodeRelayError) -> CodeRelayError {
        guard let code = try object().string("error"), !code.isEmpty else { throw .unusable(.malformed) }
        guard !Self.outages.contains(where: code.hasSameOctets) else { return .unanswered(.unavailable) }
        return .refused(Self.errors.first { code.hasSameOctets(as: $0.name) }?.error ?? .other)
    }

    private static let outages = ["temporarily_unavailable", "server_error"]
    private static let errors: [(name: String, error: ProviderError)] = [
        ("invalid_request", .invalidRequest), ("invalid_client", .invalidClient), ("invalid_grant", .invalidGrant),
        ("unauthorized_client", .unauthorizedClient), ("unsupported_grant_type", .unsupportedGrantType),
        ("invalid_scope", .invalidScope), ("interaction_required", .interactionRequired),
        ("login_required", .interactionRequired), ("consent_required", .interactionRequired),
        ("account_selection_required", .interactionRequired),
    ]

    private func object() throws(CodeRelayError) -> JSONObject {
        guard contentType.count == 1, Self.isJSON(contentType[0]) else { throw .unusable(.contentType) }
        guard let object = (try? JSONReader.parse(body))?.object else { throw .unusable(.notJSON) }
        return object
    }

    private static func isJSON(_ field: String) -> Bool {
        let type = field.utf8.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        return String(Substring(type)).lowercased().hasSameOctets(as: "application/json")
    }

    /// `nil` if absent; throws if `holds` rejects the text.
    private func text(
        _ name: String, of json: JSONObject, _ holds: (String) -> Bool
    ) throws(AnswerFault) -> String? {
        guard let value = json[name], value != .null else { return nil }
        guard let text = value.string, holds(text) else { throw .malformed }
        return text
    }

    private func lifetime(_ json: JSONObject) throws(AnswerFault) -> Int64? {
        guard let value = json["expires_in"], value != .null else { return nil }
        guard let seconds = value.number?.wholeSeconds, seconds >= 0 else { throw .malformed }
        return seconds
    }

    /// RFC 6749 App. A.12, A.17.
    private static func isToken(_ text: String) -> Bool {
        (1...longestToken).contains(text.utf8.count) && text.isPrintableASCII()
    }

    /// RFC 6749 App. A.4, and the empty scope that some IdPs send.
    private static func isScope(_ text: String) -> Bool {
        text.utf8.count <= longestScope && text.isPrintableASCII()
    }
}
