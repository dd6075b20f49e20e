import HTTPServer
package import Logging
import NIOHTTP1
package import NativeSSO
import OAuthWire
import StrictCoding
import Synchronization

/// The internal listener: it answers operators, monitors and resource servers, and accepts logouts from IdPs. It
/// ignores query strings.
///
/// Every refusal has an `X-Request-Id`, a log line and a metric, so that a logout sent to a wrong path leaves a trace.
/// The audit omits these refusals, as on the public listener: they are not requests that the broker serves.
package struct InternalEndpoint: Sendable {
    private let readiness: Readiness
    private let keys: any PublishedKeys
    private let metadata: ServerMetadata
    private let authorizationEndpoint: @Sendable () -> String?
    private let directory: any ClientDirectory
    private let metrics: BrokerMetrics
    private var logout: LogoutEndpoint?
    private var routes = Route.allCases
    private let clock: any WallClock
    private let logger: Logger

    /// - Parameters:
    ///   - authorizationEndpoint: For ``ServerMetadata/authorizationEndpoint``. It changes with the document of the IdP.
    ///   - logout: `nil`: the backchannel listener accepts logouts, or nobody does.
    package init(
        readiness: Readiness, keys: any PublishedKeys, metadata: ServerMetadata,
        authorizationEndpoint: @escaping @Sendable () -> String? = { nil }, directory: any ClientDirectory,
        metrics: BrokerMetrics,
        logout: LogoutEndpoint?, clock: any WallClock, logger: Logger
    ) {
        self.readiness = readiness
        self.keys = keys
        self.metadata = metadata
        self.authorizationEndpoint = authorizationEndpoint
        self.directory = directory
        self.metrics = metrics
        self.logout = logout
        self.clock = clock
        self.logger = logger
    }
}

extension InternalEndpoint: Responder {
    /// For a listener of their own: metrics and health, and nothing else.
    var monitoring: InternalEndpoint {
        var endpoint = self
        endpoint.routes = [.liveness, .readiness, .metrics]
        endpoint.logout = nil
        return endpoint
    }

    var withoutMetrics: InternalEndpoint {
        var endpoint = self
        endpoint.routes.removeAll { $0 == .metrics }
        return endpoint
    }

    func answer(_ arrival: Arrival) async -> HTTPAnswer {
        switch arrival {
        case .fault(.method, from: _): refused(.wire(.method), Self.methodNotAllowed("GET, HEAD, POST"))
        case .fault(let fault, from: _): refused(.wire(fault))
        case .request(let request):
            if let logout, request.isFor(LogoutEndpoint.path) {
                await logout.answer(request)
            } else if let route = routes.first(where: { request.isFor($0.rawValue) }) {
                [.GET, .HEAD].contains(request.method)
                    ? await answer(route).conditional(on: request.headers)
                    : refused(.request(.method), Self.methodNotAllowed("GET, HEAD"))
            } else {
                refused(.request(.unknownPath))
            }
        }
    }

    /// - Parameter answer: `nil`: the answer of the public listener.
    private func refused(_ refusal: Refusal, _ answer: RefusalAnswer? = nil) -> HTTPAnswer {
        let record = RequestRecord.new(clock)
        var answer = HTTPAnswer(answer ?? refusal.answer)
        answer.headers.append(("X-Request-Id", record.requestID.description))
        metrics.refused(refusal)
        logger.notice(
            "internal request",
            metadata: [
                "request_id": .string(record.requestID.description),
                "outcome": .string(OutcomeLabel.refused.rawValue),
                "reason": .string(refusal.reason),
                "status": .stringConvertible(Int(answer.status.code)),
                "duration_us": .stringConvertible(Int((ContinuousClock.now - record.start).microseconds)),
            ])
        return answer
    }

    private enum Route: String, CaseIterable {
        case liveness = "/livez"
        case readiness = "/readyz"
        case metrics = "/metrics"
        case keySet = "/.well-known/jwks.json"
        case authorizationServer = "/.well-known/oauth-authorization-server"
        case openIDConfiguration = "/.well-known/openid-configuration"
    }

    private func answer(_ route: Route) async -> HTTPAnswer {
        switch route {
        case .liveness: HTTPAnswer(status: .ok, body: Array(#"{"status":"live"}"#.utf8))
        case .readiness: HTTPAnswer(await readiness.report())
        case .metrics:
            HTTPAnswer(status: .ok, contentType: PrometheusText.contentType, body: Array(metrics.text.utf8))
        case .keySet: await keySet()
        case .authorizationServer, .openIDConfiguration:
            cacheable(currentMetadata.json)
        }
    }

    /// With the scopes of the clients as they are now. Before the first load there is only `openid`.
    private var currentMetadata: ServerMetadata {
        var metadata = metadata
        metadata.authorizationEndpoint = authorizationEndpoint()
        metadata.scopes = (try? directory.allowedScopes) ?? .empty
        return metadata
    }

    private func keySet() async -> HTTPAnswer {
        do throws(TokenError) {
            return cacheable(try await TokenError.port { () async throws(PortError) in try await keys.keySet() })
        } catch {
            return HTTPAnswer(error)
        }
    }

    /// With a strong validator, RFC 9110 §8.8.3: brokers that publish the same keys give the same one.
    private func cacheable(_ body: [UInt8]) -> HTTPAnswer {
        let tag = Base64URL.encode(TokenHashFunction.sha256.digest(body))
        return HTTPAnswer(
            status: .ok, cacheControl: "public, max-age=\(keys.maximumAge.count)",
            headers: [(HTTPAnswer.entityTag, "\"\(tag)\"")], body: body)
    }

    private static func methodNotAllowed(_ allowed: String) -> RefusalAnswer {
        .invalidRequest("The method is not allowed here.", .methodNotAllowed, headers: [("Allow", allowed)])
    }
}

extension HTTPAnswer {
    fileprivate static let entityTag = "ETag"

    /// 304 without a body if the caller has this answer already. RFC 9110 §13.1.2, §15.4.5.
    ///
    /// `If-None-Match` compares weakly: caches that compress mark a tag with `W/`.
    fileprivate func conditional(on headers: HTTPHeaders) -> HTTPAnswer {
        guard let tag = self.headers.first(where: { $0.name == Self.entityTag })?.value else { return self }
        let matching = ["*", tag, "W/" + tag].map { Array($0.utf8) }
        guard headers[canonicalForm: "If-None-Match"].contains(where: { matching.contains(Array($0.utf8)) }) else {
            return self
        }
        return HTTPAnswer(status: .notModified, cacheControl: cacheControl, headers: self.headers, body: [])
    }

    fileprivate init(_ report: Readiness.Report) {
        var json = JSONWriter()
        json.object { json in
            json.member("status", report.isReady ? "ready" : "unready")
            json.member(
                "checks",
                array: { json in
                    for result in report.results {
                        json.object { json in
                            json.member("name", result.name)
                            json.member("status", result.problem == nil ? "ok" : "failed")
                            if let problem = result.problem { json.member("reason", problem.description) }
                        }
                    }
                })
        }
        self.init(status: report.isReady ? .ok : .serviceUnavailable, body: json.bytes)
    }
}

/// The public keys that verify what this broker signs.
package protocol PublishedKeys: Sendable {
    /// A JWK Set as JSON. RFC 7517 §5.
    func keySet() async throws(PortError) -> [UInt8]

    /// How long others may cache it. A new key is published for longer than this before it signs.
    var maximumAge: Seconds { get }
}

/// One condition for this process to get requests.
package protocol ReadinessCheck: Sendable {
    /// For readers of `/readyz`: a component, or an issuer from the configuration.
    var name: String { get }

    /// What the check examines, and the reasons that it can give: sentences for the guide.
    var help: StaticString { get }

    /// `nil`: the condition holds. Otherwise a reason code. Takes about a second at most: the caller waits.
    func problem() async -> StaticString?
}

/// Whether this process should get requests: every check passes, all listeners are bound, and the process is not about
/// to stop.
package final class Readiness: Sendable {
    private enum Phase: UInt8, AtomicRepresentable {
        case starting
        case serving
        case draining
    }

    private let checks: [any ReadinessCheck]
    private let phase = Atomic(Phase.starting)

    package init(checks: [any ReadinessCheck]) { self.checks = checks }

    /// For the moment when all listeners are bound. Until then the broker is not ready: the internal listener may be
    /// bound before the public one.
    func begin() { _ = phase.compareExchange(expected: .starting, desired: .serving, ordering: .releasing) }

    /// Makes the broker not ready, whatever the checks say. A stop does this first, so that a load balancer picks
    /// another process.
    func drain() { phase.store(.draining, ordering: .releasing) }

    struct Report: Sendable {
        /// In the order of the checks.
        let results: [(name: String, problem: StaticString?)]
        var isReady: Bool { results.allSatisfy { $0.problem == nil } }
    }

    func report() async -> Report {
        var results: [(name: String, problem: StaticString?)] = []
        for check in checks { results.append((check.name, await check.problem())) }
        switch phase.load(ordering: .acquiring) {
        case .starting: results.append(("process", "starting"))
        case .serving: break
        case .draining: results.append(("process", "draining"))
        }
        return Report(results: results)
    }
}
