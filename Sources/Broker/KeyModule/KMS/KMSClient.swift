import AsyncHTTPClient
import NIOCore
import NIOHTTP1
package import NativeSSO
import StrictCoding
import Synchronization

/// Where AWS KMS is, and how it is used.
package struct KMSSettings: Sendable {
    package let region: String
    /// A URL without a path.
    package let endpoint: String
    /// The id, ARN or alias of the symmetric key that wraps MAC keys; `nil`: none are made or unwrapped.
    package let wrappingKey: String?
    /// Of a call with its repetitions.
    let deadline: Duration
    let credentials: @Sendable () throws(KMSDefect) -> AWSCredentials
    let clock: any WallClock

    /// - Parameter credentials: Called at the start, and again when KMS has refused them.
    package init(
        region: String, endpoint: String? = nil, wrappingKey: String? = nil, deadline: Duration = .seconds(3),
        clock: any WallClock, credentials: @escaping @Sendable () throws(KMSDefect) -> AWSCredentials
    ) {
        self.region = region
        self.endpoint = endpoint ?? "https://kms.\(region).amazonaws.com"
        self.wrappingKey = wrappingKey
        self.deadline = deadline
        self.clock = clock
        self.credentials = credentials
    }
}

/// Calls of the API of AWS KMS, version 2014-11-01.
package final class KMSClient: Sendable {
    let settings: KMSSettings
    private let credentials = Mutex<AWSCredentials?>(nil)

    /// Of the process: it lives as long as that.
    private static let http: HTTPClient = {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.httpVersion = .http1Only
        configuration.timeout.connect = .seconds(2)
        // The deadline of a request ends with the head of its answer. This bounds the wait for the body.
        configuration.timeout.read = .seconds(3)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    private static let mostAttempts = 3
    /// In octets. A public key takes less than 1 KiB.
    private static let longestAnswer = 64 << 10

    package init(_ settings: KMSSettings) { self.settings = settings }

    /// The result of one call. What may succeed a moment later is tried again, within the deadline.
    /// - Parameter key: What the call is about, for messages.
    func call(
        _ action: String, about key: String, _ write: (inout JSONWriter) -> Void
    ) async throws(KeyError) -> JSONObject {
        var json = JSONWriter()
        json.object(write)
        let end = ContinuousClock.now + settings.deadline
        var pause = Duration.milliseconds(50)
        var attempts = 0
        while true {
            attempts += 1
            do throws(KMSDefect) {
                return try await attempt(action, about: key, json.bytes, until: end)
            } catch {
                var again = error.isTransient
                if case .wrongCredentials = error {
                    // They may have been renewed.
                    let refused = credentials.withLock { $0.take() }
                    again = attempts == 1 && (try? settings.credentials()) != refused
                }
                guard again, attempts < Self.mostAttempts, .now + pause < end else { throw .kms(error) }
            }
            try? await Task.sleep(for: pause * Double.random(in: 0.5...1))
            pause *= 4
        }
    }

    private func attempt(
        _ action: String, about key: String, _ body: [UInt8], until end: ContinuousClock.Instant
    ) async throws(KMSDefect) -> JSONObject {
        let request = try request(action, body)
        let (status, octets): (Int, [UInt8])
        do {
            let (seconds, attoseconds) = (end - .now).components
            let left = TimeAmount.nanoseconds(max(1_000_000, seconds * 1_000_000_000 + attoseconds / 1_000_000_000))
            let response = try await Self.http.execute(request, deadline: .now() + left)
            let answer = try await response.body.collect(upTo: Self.longestAnswer)
            (status, octets) = (Int(response.status.code), Array(answer.readableBytesView))
        } catch {
            throw defect(error)
        }
        let object = try? JSONReader.parse(octets).object
        if status == 200, let object { return object }
        guard let object, let type = object.string("__type") ?? object.string("code") else {
            // A load balancer that answers for it.
            if status >= 500 { throw .failed("status \(status)") }
            throw .nonsense(endpoint: settings.endpoint, reason: "status \(status), and no answer in JSON")
        }
        let message = object.string("message") ?? object.string("Message") ?? ""
        throw KMSDefect(
            type: String(type.split(separator: "#").last ?? ""), message: String(message.prefix(300)), status: status,
            action: action, key: key)
    }

    private func defect(_ error: any Error) -> KMSDefect {
        switch error as? HTTPClientError {
        case .deadlineExceeded?, .readTimeout?, .requestStreamCancelled?, .cancelled?:
            return .noAnswer(endpoint: settings.endpoint)
        case .connectTimeout?: return .unreachable(endpoint: settings.endpoint, reason: "no connection in time")
        default: break
        }
        if error is NIOTooManyBytesError {
            return .nonsense(
                endpoint: settings.endpoint, reason: "an answer of more than \(Self.longestAnswer) octets")
        }
        if error is HTTPParserError {
            return .nonsense(endpoint: settings.endpoint, reason: "no HTTP")
        }
        return .unreachable(endpoint: settings.endpoint, reason: String("\(error)".prefix(200)))
    }

    private func request(_ action: String, _ body: [UInt8]) throws(KMSDefect) -> HTTPClientRequest {
        let credentials = try present()
        let date = AWSSignature.date(settings.clock.now)
        var headers = [
            ("content-type", "application/x-amz-json-1.1"), ("host", host), ("x-amz-date", date),
        ]
        if let token = credentials.sessionToken { headers.append(("x-amz-security-token", token)) }
        headers.append(("x-amz-target", "TrentService.\(action)"))
        let signature = AWSSignature(credentials: credentials, region: settings.region, service: "kms")
        let authorization: String
        do throws(KeyError) {
            authorization = try signature.authorization(headers: headers, body: body, date: date)
        } catch {
            throw .failed(error.description)
        }
        var request = HTTPClientRequest(url: settings.endpoint + "/")
        request.method = .POST
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        request.headers.add(name: "authorization", value: authorization)
        request.body = .bytes(body)
        return request
    }

    /// With the port, if the endpoint names one.
    private var host: String {
        settings.endpoint.split(separator: "/").dropFirst().first.map(String.init) ?? ""
    }

    private func present() throws(KMSDefect) -> AWSCredentials {
        if let present = credentials.withLock({ $0 }) { return present }
        let read = try settings.credentials()
        credentials.withLock { $0 = read }
        return read
    }
}
