import AsyncHTTPClient
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
        var tls = TLSConfiguration.makeClientConfiguration()
        if let authorities { tls.trustRoots = .certificates(authorities.certificates) }
        tls.certificateVerification = .fullVerification
        tls.minimumTLSVersion = .tlsv12
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls)
        configuration.redirectConfiguration = .disallow
        configuration.decompression = .disabled
        configuration.httpVersion = .http1Only
        configuration.connectionPool.retryConnectionEstablishment = false
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
        let outcome = await withTaskGroup { group -> Result<TokenEndpointAnswer, CodeRelayError> in
            group.addTask { await self.answer(request, url, timeout) }
            group.addTask {
                try? await Task.sleep(for: timeout)
                return .failure(.unanswered(.timedOut))
            }
            let first = await group.next()
            group.cancelAll()  // ends the sleep, or closes the connection
            return first ?? .failure(.unanswered(.timedOut))
        }
        return try outcome.get()
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
        } catch let fault as UnusableAnswer {
            return .failure(.unanswered(fault.fault))
        } catch {
            return .failure(Self.failure(error))
        }
    }

    private struct UnusableAnswer: Error {
        let fault: ProviderFault
    }

    private func read(_ response: HTTPClientResponse) async throws -> TokenEndpointAnswer {
        let status = Int(response.status.code)
        guard !(300..<400).contains(status) else { throw UnusableAnswer(fault: .redirected) }
        guard !response.headers.contains(name: "content-encoding") else { throw UnusableAnswer(fault: .encoded) }
        if let length = response.headers.first(name: "content-length").flatMap({ Int($0) }), length > Self.largest {
            throw UnusableAnswer(fault: .tooLarge)
        }
        var body: [UInt8] = []
        for try await part in response.body {
            guard body.count + part.readableBytes <= Self.largest else { throw UnusableAnswer(fault: .tooLarge) }
            body.append(contentsOf: part.readableBytesView)
        }
        return TokenEndpointAnswer(status: status, contentType: response.headers["content-type"], body: body)
    }

    /// Whether an octet of the request can have left this machine: not before there is a connection, and TLS has found the
    /// other side to be the one. Where that is not certain, it counts as sent.
    private static func failure(_ error: any Error) -> CodeRelayError {
        switch error {
        case is NIOConnectionError, is NIOSSLExtraError: .notAsked(.unreachable)
        case NIOSSLError.handshakeFailed: .notAsked(.unreachable)
        case let error as HTTPClientError where [.connectTimeout, .tlsHandshakeTimeout].contains(error):
            .notAsked(.unreachable)
        case let error as HTTPClientError where [.deadlineExceeded, .readTimeout].contains(error):
            .unanswered(.timedOut)
        default: .unanswered(.cutOff)
        }
    }
}
