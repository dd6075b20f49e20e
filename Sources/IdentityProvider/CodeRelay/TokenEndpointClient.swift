import AsyncHTTPClient
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NativeSSO

/// A request to a token endpoint. Prints as `****`.
struct TokenEndpointRequest: Sendable, CustomStringConvertible, CustomReflectable {
    let body: [UInt8]
    let authorization: String?

    var description: String { "****" }
    var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Sends codes to token endpoints, each once: no connection is used twice, nothing is tried again, no redirect is followed.
///
/// It trusts the other side with nothing: one deadline for all of it, a size limit while reading, no decompression.
public final class TokenEndpointClient: Sendable {
    private let http: HTTPClient

    /// Octets of a body. An error may come with a long page of text, and is one all the same.
    static let largest = 2 << 20

    /// ``shutdown()`` must be called before the last reference goes.
    ///
    /// - Parameter authorities: Who may vouch for the other side; `nil`: whom the system trusts.
    public init(authorities: CertificateAuthorities? = nil) {
        var configuration = HTTPClient.Configuration.untrusting(authorities: authorities)
        // Well before the deadline of the request: a code that was never sent is not spent.
        configuration.timeout.connect = .seconds(2)
        // How many there may be is said before they come here: none of them waits for another.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 4096
        http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    public func shutdown() async throws { try await http.shutdown() }

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
            return .success(try await read(response))
        } catch is Redirected {
            return .failure(.unanswered(.redirected))
        } catch BodyDefect.encoded {
            return .failure(.unanswered(.encoded))
        } catch BodyDefect.tooLarge {
            return .failure(.unanswered(.tooLarge))
        } catch {
            return .failure(Self.failure(error))
        }
    }

    private struct Redirected: Error {}

    private func read(_ response: HTTPClientResponse) async throws -> TokenEndpointAnswer {
        let status = Int(response.status.code)
        guard !(300..<400).contains(status) else { throw Redirected() }
        let body = try await response.untrustedBody(atMost: Self.largest)
        return TokenEndpointAnswer(status: status, contentType: response.headers["content-type"], body: body)
    }

    /// Whether an octet of the request can have left this machine: not before there is a connection, and TLS has found the
    /// other side to be the one. Where that is not certain, it counts as sent.
    private static func failure(_ error: any Error) -> CodeRelayError {
        switch error {
        case is NIOConnectionError, is NIOSSLExtraError: .notAsked(.unreachable)
        // Of an address that was given as such; a connection that is there is never refused.
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
