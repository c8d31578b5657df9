//! Lets the public async functions of an `impl` be compiled in their own crate alone.
//!
//! The compiler makes code of an async function where its future is polled. Of a service's functions that is the crate
//! above, and the one above that, each of which compiles them again together with everything that they await: half of what
//! `api` compiled were operations of `store`. A future in a box is polled by a pointer, so its code stays where the box is
//! made. A box costs some 20 ns, an operation of a store several µs.

use proc_macro::TokenStream;
use quote::quote;
use syn::visit_mut::{self, VisitMut};
use syn::{
    FnArg, GenericParam, ImplItem, ImplItemFn, ItemImpl, Lifetime, ParenthesizedGenericArguments, Pat, ReturnType,
    Signature, TypeBareFn, TypeImplTrait, TypeReference, Visibility, parse_macro_input, parse_quote,
};

/// Makes each `pub async fn` of an `impl` one that returns its future in a box: the same calls, awaited in the same way.
/// The future borrows all references among the arguments for as long as it lives, and can be sent to other threads.
///
/// Left as they are: functions that are not public, which other crates cannot call, and those with parameters of their
/// own for types or lifetimes, which are compiled where they are used anyway.
#[proc_macro_attribute]
pub fn boxed_futures(_attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut block = parse_macro_input!(item as ItemImpl);
    for item in &mut block.items {
        if let ImplItem::Fn(function) = item
            && is_boxed(function)
        {
            put_into_a_box(function);
        }
    }
    quote!(#block).into()
}

fn is_boxed(function: &ImplItemFn) -> bool {
    let signature = &function.sig;
    let is_public = matches!(function.vis, Visibility::Public(_));
    is_public && signature.asyncness.is_some() && signature.generics.params.is_empty() && !takes_any_type(signature)
}

fn takes_any_type(signature: &Signature) -> bool {
    struct Found(bool);
    impl VisitMut for Found {
        fn visit_type_impl_trait_mut(&mut self, _: &mut TypeImplTrait) {
            self.0 = true;
        }
    }
    let mut found = Found(false);
    signature.clone().inputs.iter_mut().for_each(|input| found.visit_fn_arg_mut(input));
    found.0
}

fn put_into_a_box(function: &mut ImplItemFn) {
    let answer: syn::Type = match &function.sig.output {
        ReturnType::Default => parse_quote!(()),
        ReturnType::Type(_, answer) => (**answer).clone(),
    };
    let signature = &mut function.sig;
    signature.asyncness = None;
    signature.output = parse_quote! {
        -> ::std::pin::Pin<::std::boxed::Box<dyn ::std::future::Future<Output = #answer> + ::std::marker::Send + '_>>
    };
    NameLifetimes.visit_signature_mut(signature);
    let lifetime: GenericParam = parse_quote!('future);
    signature.generics.params.push(lifetime);
    let changed = changed_arguments(signature);
    let block = &function.block;
    function.block = parse_quote!({ ::std::boxed::Box::pin(async move { #(let mut #changed = #changed;)* #block }) });
}

/// Takes `mut` from the arguments, which the future changes and not the function that makes it; returns their names.
fn changed_arguments(signature: &mut Signature) -> Vec<syn::Ident> {
    let patterns = signature.inputs.iter_mut().filter_map(|input| match input {
        FnArg::Typed(typed) => Some(&mut *typed.pat),
        FnArg::Receiver(_) => None,
    });
    let changed = patterns.filter_map(|pattern| match pattern {
        Pat::Ident(name) => name.mutability.take().map(|_| name.ident.clone()),
        _ => None,
    });
    changed.collect()
}

/// Gives lifetimes without a name the one of the future.
struct NameLifetimes;

impl NameLifetimes {
    fn name() -> Lifetime {
        parse_quote!('future)
    }
}

impl VisitMut for NameLifetimes {
    fn visit_receiver_mut(&mut self, receiver: &mut syn::Receiver) {
        if let Some((_, lifetime)) = &mut receiver.reference {
            *lifetime = Some(Self::name());
        }
        // The type repeats the reference.
        visit_mut::visit_receiver_mut(self, receiver);
    }

    fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
        reference.lifetime.get_or_insert_with(Self::name);
        visit_mut::visit_type_reference_mut(self, reference);
    }

    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident == "_" {
            *lifetime = Self::name();
        }
    }

    // Lifetimes of their own.
    fn visit_type_bare_fn_mut(&mut self, _: &mut TypeBareFn) {}
    fn visit_parenthesized_generic_arguments_mut(&mut self, _: &mut ParenthesizedGenericArguments) {}
}
