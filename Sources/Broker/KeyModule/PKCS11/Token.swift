import CPKCS11
import Dispatch
import Synchronization

/// Where a PKCS#11 token is.
package struct TokenSettings: Sendable {
    /// The path of the module, a shared library.
    package let module: String
    /// The label of the token.
    package let token: String
    /// How many signatures the token makes at once.
    package let sessions: Int
    let pin: [UInt8]

    /// - Parameter pin: Of the normal user.
    package init(module: String, token: String, pin: String, sessions: Int = 4) {
        self.module = module
        self.token = token
        self.pin = Array(pin.utf8)
        self.sessions = max(sessions, 1)
    }
}

/// The modules of this process. A module is loaded once, and sessions are opened one at a time.
enum TokenModule {
    @safe private struct Module: @unchecked Sendable {
        // The list is constant, and PKCS#11 allows calls from all threads after an initialisation with locks.
        let functions: UnsafeMutablePointer<ck_function_list>
        var sessions = 0

        func initialize() throws(TokenDefect) {
            let code = unsafe cpkcs11_initialize(functions)
            if code != CKR_CRYPTOKI_ALREADY_INITIALIZED { try TokenSession.check("C_Initialize", code) }
        }

        func open(_ settings: TokenSettings) throws(TokenDefect) -> TokenSession {
            do throws(TokenDefect) {
                return unsafe try TokenSession(settings, functions)
            } catch {
                // Some modules see a new token only after they were initialised again, which ends all sessions.
                guard sessions == 0 else { throw error }
                switch error {
                case .noToken: try TokenSession.check("C_Finalize", unsafe functions.pointee.C_Finalize?(nil))
                case .failed(_, CKR_CRYPTOKI_NOT_INITIALIZED): break
                default: throw error
                }
                try initialize()
                return unsafe try TokenSession(settings, functions)
            }
        }
    }

    private static let modules = Mutex<[String: Module]>([:])

    static func open(_ settings: TokenSettings) throws(TokenDefect) -> TokenSession {
        try modules.withLock { modules throws(TokenDefect) in
            let path = settings.module
            if modules[path] == nil { modules[path] = try load(path) }
            guard let module = modules[path] else { throw .module(path: path, reason: "it was not loaded") }
            let session = try module.open(settings)
            modules[path]?.sessions += 1
            session.onEnd = { ended(path) }
            return session
        }
    }

    private static func ended(_ path: String) { modules.withLock { $0[path]?.sessions -= 1 } }

    private static func load(_ path: String) throws(TokenDefect) -> Module {
        var functions: UnsafeMutablePointer<ck_function_list>?
        if let reason = unsafe cpkcs11_load(path, &functions) {
            throw .module(path: path, reason: unsafe String(cString: reason))
        }
        guard let functions = unsafe functions else { throw .module(path: path, reason: "it has no functions") }
        let module = unsafe Module(functions: functions)
        try module.initialize()
        return module
    }
}

/// A token with a pool of sessions. Calls wait on threads of their own, never on an event loop.
///
/// After a failure it refuses all calls at once, so that nothing is written for a token that cannot be signed. It tries to
/// connect again after 0.5 s, then at growing distances of at most 4 s. A refused PIN is never tried again.
package final class Token: Sendable {
    private struct State {
        var failure: TokenDefect?
        var pause = 0
        /// Calls that wait or run, for each session.
        var load: [Int]
    }

    let settings: TokenSettings
    private let lanes: [Lane]
    private let state: Mutex<State>

    /// Calls that may wait for one session.
    private static let mostWaiting = 64
    private static let deadline = DispatchTimeInterval.seconds(5)

    package init(_ settings: TokenSettings) {
        self.settings = settings
        lanes = (0..<settings.sessions).map { Lane(settings, number: $0) }
        state = Mutex(State(load: Array(repeating: 0, count: settings.sessions)))
    }

    /// Why calls are refused now; `nil`: the token works, as far as the last call says.
    package var failure: TokenDefect? { state.withLock { $0.failure } }

    /// How often a session was opened, or tried to be.
    var logins: Int { lanes.reduce(0) { $0 + $1.logins.load(ordering: .relaxed) } }

    /// Runs `body` with the session that has the least to do.
    func perform<Value: Sendable>(
        _ body: @escaping @Sendable (TokenSession) throws(TokenDefect) -> Value
    ) async throws(KeyError) -> Value {
        let place = state.withLock { state -> Result<Int, TokenDefect> in
            if let failure = state.failure { return .failure(failure) }
            guard let least = state.load.indices.min(by: { state.load[$0] < state.load[$1] }),
                state.load[least] < Self.mostWaiting
            else { return .failure(.busy) }
            state.load[least] += 1
            return .success(least)
        }
        let number: Int
        do throws(TokenDefect) { number = try place.get() } catch { throw .token(error) }
        let result = await withCheckedContinuation {
            (continuation: CheckedContinuation<Result<Value, TokenDefect>, Never>) in
            let answer = Once(continuation)
            DispatchQueue.global().asyncAfter(deadline: .now() + Self.deadline) { answer.give(.failure(.noAnswer)) }
            lanes[number].queue.async { [self] in
                let result = lanes[number].run(body)
                state.withLock { $0.load[number] -= 1 }
                if case .failure(let defect) = result, defect.endsSession { begin(failure: defect) }
                answer.give(result)
            }
        }
        do throws(TokenDefect) { return try result.get() } catch { throw .token(error) }
    }

    private func begin(failure: TokenDefect) {
        let isFirst = state.withLock { state in
            defer { state.failure = failure }
            return state.failure == nil
        }
        if isFirst, !failure.concernsPIN { connectLater() }
    }

    private func connectLater() {
        let pause = state.withLock { state in
            state.pause = min(max(state.pause * 2, 500), 4000)
            return state.pause
        }
        lanes[0].queue.asyncAfter(deadline: .now() + .milliseconds(pause)) { [weak self] in
            guard let self else { return }
            // Other sessions find out by themselves.
            let result = lanes[0].run { (_: TokenSession) throws(TokenDefect) in }
            guard case .failure(let defect) = result else {
                return state.withLock { ($0.failure, $0.pause) = (nil, 0) }
            }
            state.withLock { $0.failure = defect }
            if !defect.concernsPIN { connectLater() }
        }
    }
}

/// One session and the thread that uses it.
private final class Lane: @unchecked Sendable {
    let queue: DispatchQueue
    private let settings: TokenSettings
    /// Used on `queue` only.
    private var session: TokenSession?
    let logins = Atomic(0)

    init(_ settings: TokenSettings, number: Int) {
        self.settings = settings
        queue = DispatchQueue(label: "token session \(number)")
    }

    /// Opens the session if there is none. A session that was closed meanwhile is opened again once.
    func run<Value>(_ body: (TokenSession) throws(TokenDefect) -> Value) -> Result<Value, TokenDefect> {
        let wasOpen = session != nil
        let first = attempt(body)
        if wasOpen, case .failure(let defect) = first, defect.endsSession, !defect.concernsPIN { return attempt(body) }
        return first
    }

    private func attempt<Value>(_ body: (TokenSession) throws(TokenDefect) -> Value) -> Result<Value, TokenDefect> {
        do throws(TokenDefect) {
            if let session { return .success(try body(session)) }
            logins.add(1, ordering: .relaxed)
            let session = try TokenModule.open(settings)
            self.session = session
            return .success(try body(session))
        } catch {
            if error.endsSession { session = nil }
            return .failure(error)
        }
    }
}

/// Gives one answer to a waiting task: the first one.
private final class Once<Value: Sendable>: Sendable {
    private let continuation: Mutex<CheckedContinuation<Value, Never>?>

    init(_ continuation: CheckedContinuation<Value, Never>) {
        self.continuation = Mutex(continuation)
    }

    func give(_ value: Value) {
        continuation.withLock { waiting in
            defer { waiting = nil }
            return waiting
        }?.resume(returning: value)
    }
}
