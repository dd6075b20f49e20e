import CLibPQ
import Glibc

/// The parameter arrays for libpq. A connection reuses them, because libpq copies the data.
@safe final class ParameterArrays {
    private var values: UnsafeMutableBufferPointer<UnsafePointer<CChar>?> = .allocate(capacity: 0)
    private var lengths: UnsafeMutableBufferPointer<Int32> = .allocate(capacity: 0)
    private var formats: UnsafeMutableBufferPointer<Int32> = .allocate(capacity: 0)

    deinit { release() }

    /// Sends the parameters to a prepared statement. Returns libpq's result.
    func send(_ parameters: EncodedParameters, to statement: String, on connection: OpaquePointer) -> Int32 {
        let count = parameters.count
        if unsafe values.count < count { grow(to: count) }
        return unsafe parameters.octets.withUnsafeBytes { octets in
            var index = 0
            parameters.forEachRange { range in
                unsafe lengths[index] = Int32(clamping: range?.count ?? 0)
                unsafe values[index] = range.flatMap {
                    unsafe octets.baseAddress?.advanced(by: $0.lowerBound).assumingMemoryBound(to: CChar.self)
                }
                index += 1
            }
            return unsafe PQsendQueryPrepared(
                connection, statement, Int32(clamping: count), values.baseAddress, lengths.baseAddress,
                formats.baseAddress, 1)
        }
    }

    private func grow(to count: Int) {
        release()
        unsafe values = .allocate(capacity: count)
        unsafe lengths = .allocate(capacity: count)
        unsafe formats = .allocate(capacity: count)
        unsafe values.initialize(repeating: nil)
        unsafe lengths.initialize(repeating: 0)
        unsafe formats.initialize(repeating: 1)  // binary
    }

    private func release() {
        unsafe values.deallocate()
        unsafe lengths.deallocate()
        unsafe formats.deallocate()
    }
}

/// A NULL-terminated list of C strings. `deinit` wipes it, because it may contain a password.
@safe struct CStrings: ~Copyable {
    private let pointers: [UnsafeMutablePointer<CChar>?]

    init(_ strings: [String]) { unsafe pointers = unsafe strings.map { unsafe strdup($0) } + [nil] }

    deinit {
        unsafe pointers.forEach { pointer in
            guard let pointer = unsafe pointer else { return }
            unsafe explicit_bzero(pointer, strlen(pointer))
            unsafe free(pointer)
        }
    }

    func withPointers<Value>(_ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Value) -> Value {
        let constant = unsafe pointers.map { unsafe $0.map { unsafe UnsafePointer($0) } }
        return unsafe constant.withUnsafeBufferPointer { unsafe body($0.baseAddress) }
    }
}
