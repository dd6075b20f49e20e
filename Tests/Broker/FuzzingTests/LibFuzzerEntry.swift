import Foundation

// The entry point of libFuzzer. The tests do not call it; deploy/fuzz links these objects to libFuzzer.

/// Chosen once, by `NATIVE_SSO_FUZZ_TARGET`.
private let target = FuzzTarget(rawValue: ProcessInfo.processInfo.environment["NATIVE_SSO_FUZZ_TARGET"] ?? "")

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let target else { stop("NATIVE_SSO_FUZZ_TARGET names none of \(FuzzTarget.allCases.map(\.rawValue))") }
    do {
        _ = try target.check(Array(UnsafeBufferPointer(start: start, count: count)))
    } catch {
        stop("\(target.rawValue): \(error)")
    }
    return 0
}

/// libFuzzer writes the input down and ends.
private func stop(_ message: String) -> Never {
    FileHandle.standardError.write(Data("\(message)\n".utf8))
    abort()
}
